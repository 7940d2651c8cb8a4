"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature, Page

FEATURE = Feature(
    name="compare",
    summary="says whether a run is better or worse than another, and with what confidence",
    commands=(
        Command(
            "compare",
            "See what happened",
            "Compare runs case by case: better, worse or chance? With gates for CI.",
            "carob.features.compare.cli:command",
        ),
        Command(
            "compare --history",
            "See what happened",
            "Show the last runs of a suite case by case: what broke when, what is flaky.",
            "carob.features.compare.cli_history:command",
        ),
        Command(
            "compare --save",
            "See what happened",
            "Save a run as the baseline of its suite.",
            "carob.features.compare.cli_baseline:save",
        ),
        Command(
            "compare --show",
            "See what happened",
            "Show the baseline of a suite.",
            "carob.features.compare.cli_baseline:show",
        ),
    ),
    pages=(Page("/compare", "carob.features.compare.page:compare_page"),),
    settings={"gate": "carob.features.compare.gates:GateTables"},
    services={
        "base_reader": "carob.features.compare.comparisons:read_base",
        "compared_runs": "carob.features.compare.comparisons:compare_runs",
    },
)
