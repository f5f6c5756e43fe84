def call_api(prompt, options, context):
    flagged = "lock" in prompt
    return {
        "output": f"About {prompt}",
        "guardrails": {"flagged": flagged, "flaggedInput": flagged},
    }
