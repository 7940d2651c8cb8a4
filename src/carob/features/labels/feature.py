"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature, Page

FEATURE = Feature(
    name="labels",
    summary="people decide criteria, and a model as far as their labels show that it can",
    commands=(
        Command(
            "label",
            "See what happened",
            "Decide criteria that only a reader can judge, one key for each answer.",
            "carob.features.labels.cli:command",
        ),
    ),
    pages=(
        Page(
            "/labels",
            "carob.features.labels.page:labels_page",
            "Labels",
            assets=("labels.css", "labels.js"),
            writes="carob.features.labels.page:write",
        ),
    ),
    case_parts=(Page("/reviews", "carob.features.labels.page:reviews_of_case"),),
    services={
        "ask_judge": "carob.features.labels.judging:ask_judge",
        "check_judge": "carob.features.labels.judging:check_judge",
    },
    settings={
        "labels": "carob.criteria.settings:LabelSettings",
        "judge": "carob.criteria.settings:JudgeSettings",
    },
)
