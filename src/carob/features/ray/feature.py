"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Feature

FEATURE = Feature(
    name="ray",
    summary="runs cases, and judges conversations, on a Ray cluster",
    services={"ray_executor": "carob.features.ray.process:RayProcess"},
)
