"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature, Page

FEATURE = Feature(
    name="stress",
    summary="breaks the tools and the model of an agent, and judges what must hold",
    commands=(
        Command(
            "stress",
            "Test an agent",
            "Break an agent's tools and models, and check how it reacts.",
            "carob.features.stress.cli:command",
            needs_processes=True,
        ),
    ),
    pages=(Page("/run/{key}/stress", "carob.features.stress.page:stress_page", "Stress", option="stress"),),
    settings={"stress": "carob.features.stress.session:StressTable"},
)
