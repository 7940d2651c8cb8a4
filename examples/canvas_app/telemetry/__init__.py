"""What the app tells about its turns: JSON lines and OpenTelemetry spans."""
