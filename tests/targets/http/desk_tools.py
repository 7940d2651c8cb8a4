"""The tool of the desk, for a model that leaves it to others to run it."""


def weather(city: str) -> str:
    """Tell the weather of a city."""
    if city == "Nowhere":
        raise ValueError("there is no such city")
    return f"sunny in {city}"
