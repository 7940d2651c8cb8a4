"""The desk behind Flask."""

import sys

from desk import answer
from flask import Flask, request

app = Flask(__name__)


@app.get("/health")
def health():
    return {"up": True}


@app.post("/chat")
def chat():
    return {"reply": answer(request.get_json()["message"])}


app.run(port=int(sys.argv[1]), threaded=True)
