"""Where we differ from promptfoo on purpose."""

from __future__ import annotations

from collections.abc import Mapping

DEVIATIONS: Mapping[str, str] = {
    "errors": "A grader that raises, hangs or returns nothing usable is an error, not a failed assertion with score 0; "
    "an error is never turned into a pass by not-. Results written for promptfoo say what it would.",
    "judges": "Judges get prompts of Evenhand's own. If no judge is named, gpt-5-mini or claude-sonnet-4-5 "
    "judges (in promptfoo 0.123 gpt-5.6-sol or claude-sonnet-4-6): borderline verdicts may differ. "
    "defaultTest.options.provider names the judge, and defaultTest.options.rubricPrompt its words, for all "
    "assertions that a model grades.",
    "judge replies": "A judge's reply without a readable verdict is asked for once more and is then an error. Such a "
    "reply was cut off, continues after its verdict, holds verdicts that differ, or has its verdict only in its "
    "thinking. `{}` is not a pass, and a score alone decides only where a threshold is set. "
    "With Evenhand's own prompts, a judge's score is from 0 to 1 (g-eval: 0 to 10), closed-qa's Y or N and select-"
    "best's number stand alone at the end, and each statement of context-faithfulness has a verdict; with"
    " a rubricPrompt of yours any scale holds, and the first number and the last letter are read, as in "
    "promptfoo.",
    "prompts of judges": "In a rubricPrompt of yours, `output`, `completion`, `criteria` and `rubric` are what is "
    "judged and what is asked, also where the test has a variable of that name; in promptfoo "
    "the variable takes their place. `input` is the test's variable where there is one, as "
    "there. A rubricPrompt that is one text is not used by context-faithfulness, which wants "
    "a list of two (in promptfoo an error), nor by g-eval, which wants {steps, evaluate}. "
    "JavaScript files are not run for a rubricPrompt.",
    "data in code": "A variable filled into Python or JavaScript code stays a value: escaped inside quotes, and "
    "written as a literal outside of them. Tags in inline Ruby are refused: context['vars'] has the values.",
    "moderation by Replicate": "Llama Guard is asked about the output alone; promptfoo sends the prompt with it. A "
    "category that promptfoo does not know is kept, and `unsafe` without a category is flagged as `unsafe`.",
    "Vertex": "Vertex AI is asked with an access token (GOOGLE_ACCESS_TOKEN) or an API key; promptfoo also takes "
    "application-default credentials. Models other than Gemini and Claude go through LiteLLM.",
    "simulated users": "The model that userProvider names, or else the one that judges, plays the user, by a prompt "
    "of Evenhand's; promptfoo asks a remote model of its own. Each of its messages is checked: one with a "
    "mistake is asked for again, and a second one is an error of the trial, not a failure. In initialMessages, what "
    "is not a message is an error; promptfoo leaves it out.",
    "evenhand:user": "A user who is a script, or a model with facts and things that it must not say, is written as "
    "evenhand:user. promptfoo has no such provider.",
    "MCP servers": "The tools of a provider's mcp are not called, unless it has call: true: what the model calls is "
    "its answer, in the form of tool calls. promptfoo calls them: for OpenAI's models their results are the output, "
    "and Anthropic's models are asked again with them. Servers are asked once in a run for what they have.",
    "callbacks": "functionToolCallbacks are not called: what the model calls is its answer. promptfoo calls them, and "
    "their results are the output.",
    "meteor": "METEOR works here; promptfoo's fails to load what it needs. Forms and stems are matched, not synonyms.",
    "file:// in CSV": "file://grader.py in an __expected cell is a Python assertion.",
    "unknown types": "An unknown assertion type, an invalid pattern or schema, a missing value, file or key, and a "
    "template or transform that does not parse are found when the files are read. They are reported with "
    "their lines, and a test that cannot pass because of them is an error without a call; all other tests "
    "are run. Where no test is left, nothing is sent.",
    "traces": "Spans are those that the provider returns in metadata.trace, or that the test's metadata has. Where "
    "neither has any, they are the steps that the run saw: model calls, and recorded or reported tools.",
    "webhooks": "A webhook is asked once for each output; promptfoo tries four times more where it cannot be reached.",
    "answers of web services": "A web service that answers 429 or 5xx is asked again. After 401, 403, 404 or 501 it is "
    "asked nothing more, and the trials that need it are left; promptfoo takes each for an answer. `validateStatus` "
    "decides in both. A body without a method is sent by POST, unless the address has tags; promptfoo sends a GET, and "
    "leaves the body out. "
    "The output of an agent's stream is its text, not its events.",
    "blank lines of prompts": "Anthropic's models are sent a prompt as it is written; promptfoo leaves out its blank "
    "lines and its last line break.",
    "cached latency": "A reply from the cache has the latency of the call that made it.",
    "refusals": 'An answer that begins with a polite apology and goes on to answer, such as "Sorry to keep you '
    'waiting, here is …", is not a refusal; promptfoo counts whatever begins with `sorry`.',
    "blocks by filters": "A block is an empty output that is marked as refused, whichever vendor it is: is-refusal and "
    "not-guardrails pass, guardrails fails. promptfoo knows OpenAI's invalid_prompt and Azure's content_filter; its "
    "output is the error's text, or *Content filtered by provider*, which is-refusal doesn't recognise, and its "
    "guardrails miss refusals of the responses API and of Claude without details. Others are errors there.",
    "unfinished answers": "An answer that the vendor didn't finish, and thinking, a picture or null without a text, "
    "are asked again, and then an error; promptfoo takes the text that there is, shows the thinking as the output, or "
    "fails the test with *No output*. A refusal in words is the output for every vendor; there, for some, No output.",
    "thoughts": "showThinking: false leaves out thoughts that stand in the text, too, such as <think>…</think>, from "
    "whatever provider; promptfoo leaves out those that have a field of their own.",
    "contests of one": "select-best and max-score over one output are an error of that test; promptfoo ends the whole "
    "run.",
    "contests": "select-best and max-score number the outputs by their variants, and leave out those that have none; "
    "promptfoo numbers them as they arrive, and lets an empty text compete. A judge that names none of them, or an "
    "assertion without a score, leaves all without a verdict. A winner without other assertions has score 1, and 0 in "
    "promptfoo's format, as there. The judge's tokens count once, with the last variant; there with each.",
    "scoring functions": "An assertScoringFunction is not asked where an assertion is in error; one that raises, or "
    "returns no verdict, is an error and not a failed test with score 0. A Python file without a name is called at "
    "get_score, too; promptfoo wants func there.",
    "tags in data": "{{…}} in a table, JSON, JSONL or a generated test is text; promptfoo fills it in.",
    "secrets in tests": "{{ env.NAME }} in a test's variable is refused where NAME looks like a secret, and stays text "
    "in files of data; promptfoo sends the secret to the model. What is not secret is filled in, and a provider's "
    "config may use both.",
    "secrets in replies": "A key, token or password of the run that a reply repeats is [redacted] before anything is "
    "scored, and so it is in the values of assertions; promptfoo scores and stores it.",
    "thresholds in CSV": "None is invented for latency and cost in an __expected cell; a written one always counts.",
    "Python prompts": "A Python prompt function gets the variables that its parameters name, where promptfoo gives it "
    "one dict; --strict-prompts calls it as promptfoo does.",
    "braces of functions": "What a prompt function or program returns is not a template: braces in an article stay "
    "braces.",
    "scripts as prompts": "Scripts as prompts run wherever you stand, and are given what they need to start.",
    "files in data": "file:// in a variable of a table, JSON, JSONL or a generated test is text, and names no file.",
    "prefixes of code": "options.prefix and options.suffix also stand around text that a prompt function or program "
    "makes, and are left out around messages; promptfoo leaves them out around both.",
    "prompt prefixes": "--prompt-prefix and --prompt-suffix hold beside other defaultTest.options, too.",
    "unclosed tags": "A prompt with a tag that is not closed on its line is filled in, but for a line whose tag is "
    "never closed; promptfoo fills in nothing of it.",
    "commandLineOptions": "All count; in promptfoo only repeat, maxConcurrency, delay, cache, filterRange, "
    "filterSample, filterSampleSeed, tags and envPath do.",
    "prompts of providers": "Each provider keeps its own prompts, also where two have the same id or prompts is a text,"
    " and a label or "
    "config beside a pattern of files is that of all its prompts; promptfoo drops it, and what names the label "
    "selects nothing.",
    "messages in variables": "A prompt that is a single variable passes a list of messages in it on as a conversation; "
    "promptfoo writes [object Object].",
    "finish reasons": "finish-reason holds for every vendor that says why an answer ended; promptfoo reads none of "
    "Mistral's and LocalAI's, and fails there.",
    "calls without output": "Where promptfoo has no output for an answer that asks for tools (LocalAI's, function_call "
    "of Mistral's, calls beside reasoning), the calls are the output.",
    "providers of tests": "A test's own provider is asked wherever its file names it, also where a JSON or JSONL file "
    "is all that `tests` names; promptfoo looks there only with -c, and then also at what a function returns. Of tests "
    "that JavaScript makes, objects with callApi are asked; promptfoo also asks ids in a list that a file exports. A "
    "label of the config's providers names that provider; promptfoo takes it for an id.",
    "absent providers": "A provider that cannot be had costs its own column, whose trials are errors, and a test's own "
    "costs that test; promptfoo ends the whole run.",
    "texts like paths": "A prompt with tags is text. promptfoo takes one line with a slash, or with a dot near its "
    "end, "
    "for a path, and ends if nothing is there.",
    "programs": "A Python or exec: provider has the settings of the prompt and the test also in its own "
    "config, over the provider's; in promptfoo they are in context.prompt.config alone. context has no evaluationId, "
    "and its test no `assert`. "
    "A program that prints nothing is an error, and an empty line an empty answer; promptfoo takes both for an empty "
    "answer.",
    "tokens": "A tokenUsage of `total` alone says nothing, and neither do the tokens of a call that failed, or those "
    "that a grader in code says it used; promptfoo adds them up. A failed call with a cost or tokens counts toward "
    "--max-cost.",
    "transformVars": "transformVars is called for each case, with one combination of the variables. Its context.uuid "
    "is the same in every run.",
    "circular variables": "Variables that name each other are filled in once; promptfoo goes round five times.",
    "afterEach": "An afterEach that raises makes its trial an error, and what it changes in result.response is "
    "dropped; promptfoo logs the first, and keeps response.metadata.",
    "derived metrics": "A derived metric that cannot be worked out is left out; promptfoo says 0.",
    "objects in CSV": "Objects are written to CSV as JSON; promptfoo writes [object Object] for variables.",
    "cached code": "Answers of Python and JavaScript providers come from the cache until the code, or a text file that"
    " it names, changes; promptfoo's never do.",
    "exit codes": "A run with failures exits with 1, one without a verdict with 3, one of no tests with 5 and "
    "no results file; --promptfoo-exit-codes exits as promptfoo does.",
    "delay": "The delay of a config or provider is waited before each call; promptfoo's may overlap or be skipped.",
    "values": "starts-with and regex take a number, one line of Python may begin with return, and several may end in "
    "an expression: in promptfoo the first is an error and the others fail. A score of NaN is an error of that test; "
    "promptfoo drops the row. Of is-json, a value that is true or false is an error; promptfoo takes false for no "
    "schema, and refuses drafts after 7. A Python grader may return a dataclass. A weight below 0 is refused.",
    "objects as prompts": "A prompt that is an object, and no conversation, is sent as the text of its JSON, whether a "
    "file holds it or a function returns it; promptfoo sends it as messages, which vendors refuse.",
    "numbers in variables": ".inf and .nan are texts in a variable, and a date is the text in the file; promptfoo "
    "writes Infinity, NaN and [object Object].",
    "context of graders": "A grader has its own copy of context.vars: what it writes there, the next one doesn't "
    "see, as it does in promptfoo. context.providerResponse.raw is the answer's text; there it is what the provider "
    "returns as raw.",
    "names of columns": "A JavaScript provider's id() does not name its column: the file or its label does.",
    "uploads": "Nothing is uploaded anywhere, and there is no telemetry.",
}
"""Where we differ from promptfoo on purpose, by subject."""
