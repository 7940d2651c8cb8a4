"""Streamlit's chat elements as its tutorial shows them."""

import streamlit as st
from desk import pieces, reply

st.title("Front desk")
if "messages" not in st.session_state:
    st.session_state.messages = []
for message in st.session_state.messages:
    with st.chat_message(message["role"]):
        st.markdown(message["content"])
if prompt := st.chat_input("What is up?"):
    earlier = [m["content"] for m in st.session_state.messages if m["role"] == "user"]
    st.session_state.messages.append({"role": "user", "content": prompt})
    with st.chat_message("user"):
        st.markdown(prompt)
    with st.chat_message("assistant"):
        said = st.write_stream(pieces(reply(prompt, earlier)))
    st.session_state.messages.append({"role": "assistant", "content": said})
