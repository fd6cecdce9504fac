"""What all tests share: hypothesis draws the same examples everywhere, and a busy machine is no failure."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "qlab", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("qlab")
