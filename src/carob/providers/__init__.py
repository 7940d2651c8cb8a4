"""The APIs of model providers: each request, reply, stream and error, read and written in one place."""
