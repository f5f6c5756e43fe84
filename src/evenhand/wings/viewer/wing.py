"""What the wing `viewer` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Exporter, Wing

WING = Wing(
    name="viewer",
    summary="Runs in the browser, and as a page of one file.",
    commands={
        "view": Command(
            "evenhand.wings.viewer.commands.view:view",
            "View runs in the browser.",
            (
                "evenhand view",
                "evenhand view 01M7YPHZRR --no-browser",
                "evenhand view --serve --public-url https://evals.test",
            ),
        )
    },
    settings={"viewer": "evenhand.wings.viewer.team_settings:ViewerSettings"},
    exporters={
        "html": Exporter(
            "evenhand.wings.viewer.standalone_page:write_page",
            ("html", "htm"),
            ready="evenhand.wings.viewer.page:look",
            compares=True,
        )
    },
)
