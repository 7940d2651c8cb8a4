"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="guard",
    summary="asks the rules before a call is made",
    commands=(
        Command(
            "guard",
            "Judge and guard conversations",
            "Hold the calls of an agent to the rules of a contract, before they are made.",
            "carob.features.guard.cli:command",
            needs_processes=True,
        ),
    ),
    services={"guard_run": "carob.features.guard.as_run:write_guard_run"},
    target_wrappers={"guard": "carob.features.guard.target:guard_target"},
)
