"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Feature, TargetKind

FEATURE = Feature(
    name="browser",
    summary="tests a live web application in a real browser",
    targets=(
        TargetKind(
            "browser", "carob.features.browser.target:BrowserTarget", "browser:http://127.0.0.1:8000", extra="browser"
        ),
    ),
)
