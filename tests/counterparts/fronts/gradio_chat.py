"""Gradio's ChatInterface as its documentation shows it."""

import sys

import gradio as gr
from desk import pieces, reply


def chat(message, history):
    earlier = [turn["content"] for turn in history if turn["role"] == "user"]
    earlier = [text if isinstance(text, str) else text[0]["text"] for text in earlier]
    said = ""
    for piece in pieces(reply(message, earlier)):
        said += piece
        yield said


gr.ChatInterface(chat, title="Front desk").launch(server_name="127.0.0.1", server_port=int(sys.argv[1]))
