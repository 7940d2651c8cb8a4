"""The Morning Brief: one mission for the day, why, what moves it, on what evidence and how sure."""
