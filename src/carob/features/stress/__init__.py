"""Stress: breaks the tools and the model of an agent, and judges what must hold."""
