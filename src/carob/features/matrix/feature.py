"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="matrix",
    summary="shows runs side by side",
    commands=(
        Command(
            "compare --side-by-side",
            "See what happened",
            "Show several runs side by side: cases as rows, runs as columns, answers and calls in the cells.",
            "carob.features.matrix.cli:command",
        ),
    ),
    services={"side_by_side": "carob.features.matrix.library:show_side_by_side"},
)
