"""The desk behind FastAPI."""

import sys

import uvicorn
from desk import answer
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Question(BaseModel):
    message: str


@app.get("/health")
def health():
    return {"up": True}


@app.post("/chat")
def chat(question: Question):
    return {"reply": answer(question.message)}


uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
