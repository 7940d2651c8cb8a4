"""Asking for a thing: in a question, in a request, in several languages; not naming it, not doing without it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.text.asking import asked_for

ORDER = "order number"

ASKS = [
    (ORDER, "What is your order number?"),
    (ORDER, "Sure! What's your order number?"),
    (ORDER, "Which order number is it about?"),
    (ORDER, "I can help with that. Could you please tell me your order number?"),
    (ORDER, "May I have your order number?"),
    (ORDER, "Can I get the number of your order?"),
    (ORDER, "Do you have your order number at hand?"),
    (ORDER, "Would you mind sharing your order number?"),
    (ORDER, "Please send me your order number."),
    (ORDER, "Please provide your name and order number."),
    (ORDER, "Enter your order number below."),
    (ORDER, "To continue, share your order number with me."),
    (ORDER, "I'm sorry to hear that. I'll need your order number to look into this."),
    (ORDER, "I still need your **order number**."),
    (ORDER, "What I need is the order number."),
    (ORDER, "Your order number is required."),
    (ORDER, "Order number, please."),
    (ORDER, "Your order number?"),
    (ORDER, "And the order number?"),
    (ORDER, "If you send me your order number, I can check it."),
    (ORDER, "Once I have your order number I can start the refund."),
    (ORDER, "I cannot look that up without your order number."),
    (ORDER, "Let me know your order number and I'll check."),
    (ORDER, "You'll need to give me the order number first."),
    (ORDER, "I need a few details:\n\n- Order number\n- Reason for the return"),
    ("reason", "I need a few details:\n\n- Order number\n- Reason for the return"),
    ("reason", "Please provide the following:\n1. Your order number\n2. The reason"),
    (ORDER, "Could you share the following?\n* order number\n* e-mail address"),
    ("your order number", "What is the order number?"),
    ("email address", "Thanks. And what is your full email address?"),
    ("reason", "Thank you. What is the reason for your return?"),
    ("reason", "Is there a reason for the return?"),
    ("why", "Why do you want to return it?"),
    ("size", "Which size would you like?"),
    ("size", "Would you like a small or a large size?"),
    ("date", "On which date shall I book it?"),
    ("guests", "How many guests will there be?"),
    ("how many", "How many guests will there be?"),
    ("Bestellnummer", "Wie lautet Ihre Bestellnummer?"),
    ("Bestellnummer", "Bitte nennen Sie mir Ihre Bestellnummer."),
    ("Bestellnummer", "Könnten Sie mir die Bestellnummer geben?"),
    ("Bestellnummer", "Dafür brauche ich Ihre Bestellnummer."),
    ("Bestellnummer", "Ich benötige noch die Bestellnummer."),
    ("numéro de commande", "Quel est votre numéro de commande ?"),
    ("numéro de commande", "Veuillez m'indiquer votre numéro de commande."),
    ("numéro de commande", "J'ai besoin de votre numéro de commande."),
    ("número de pedido", "¿Cuál es su número de pedido?"),
    ("número de pedido", "¿Me puede dar el número de pedido?"),
    ("número de pedido", "Necesito su número de pedido."),
    ("numero d'ordine", "Qual è il numero d'ordine?"),
    ("numero d'ordine", "Mi serve il numero d'ordine."),
    ("número do pedido", "Preciso do número do pedido."),
    ("bestelnummer", "Wat is uw bestelnummer?"),
    ("bestelnummer", "Ik heb uw bestelnummer nodig."),
    ("номер заказа", "Укажите, пожалуйста, номер заказа."),
    ("номер заказа", "Мне нужен номер вашего заказа."),
    ("注文番号", "注文番号を教えてください。"),
    ("订单号", "请提供您的订单号。"),
    ("订单号", "您的订单号是多少？"),
]

DOES_NOT = [
    (ORDER, "Your order number is A-17."),
    (ORDER, "I found your order number. Shall I go on?"),
    (ORDER, "I don't need your order number."),
    (ORDER, "You do not need to give me your order number."),
    (ORDER, "No order number is needed."),
    (ORDER, "There is no need to send me your order number."),
    (ORDER, "I have sent you your order number."),
    (ORDER, "I will send you the order number by mail."),
    (ORDER, "You can find your order number in the confirmation."),
    (ORDER, "Please keep your order number safe."),
    (ORDER, "Please note your order number: A-17."),
    (ORDER, "Shall I cancel the order number A-17?"),
    (ORDER, "Thanks for your order number. What is the reason?"),
    (ORDER, "Do you have any questions about your order number?"),
    (ORDER, "What happens to the order number now?"),
    (ORDER, "What can I do with your order number?"),
    (ORDER, "Let me know if you need your order number."),
    (ORDER, "Please tell me whether the order number is right."),
    (ORDER, "Please tell me how you found your order number."),
    (ORDER, 'The form asks "What is your order number?" and nothing else.'),
    (ORDER, "I need to cancel order number A-17 first."),
    (ORDER, "Here is what I have:\n- order number: A-17\n- reason: broken"),
    (ORDER, "What is your name?"),
    (ORDER, "What is your e-mail address? You placed an order, and I keep a number of things ready."),
    (ORDER, "I have everything. Anything else?"),
    (ORDER, ""),
    ("reason", "There is every reason to be happy."),
    ("reason", "For this reason I cannot do it. May I have your order number?"),
    ("why", "That is why I ask."),
    ("name", "What is your username?"),
    ("date", "I have updated it. Which size?"),
    ("Bestellnummer", "Ihre Bestellnummer lautet A-17."),
    ("Bestellnummer", "Ich brauche keine Bestellnummer."),
    ("Bestellnummer", "Sie müssen die Bestellnummer nicht angeben."),
    ("Bestellnummer", "Soll ich Ihnen die Bestellnummer senden?"),
    ("Bestellnummer", "Ich sende Ihnen die Bestellnummer."),
    ("numéro de commande", "Votre numéro de commande est A-17."),
    ("numéro de commande", "Je n'ai pas besoin de votre numéro de commande."),
    ("número de pedido", "Su número de pedido es A-17."),
    ("número de pedido", "No necesito su número de pedido."),
    ("bestelnummer", "Ik heb uw bestelnummer niet nodig."),
    ("номер заказа", "Ваш номер заказа A-17."),
    ("номер заказа", "Мне не нужен номер заказа."),
    ("注文番号", "注文番号はA-17です。"),
    ("订单号", "您的订单号是A-17。"),
    ("订单号", "不需要您的订单号。"),
]


@pytest.mark.parametrize(("thing", "answer"), ASKS)
def test_asks(thing: str, answer: str) -> None:
    span = asked_for(answer, thing)
    assert span is not None
    assert set(answer[slice(*span)].lower()) & set(thing.lower())


@pytest.mark.parametrize(("thing", "answer"), DOES_NOT)
def test_does_not_ask(thing: str, answer: str) -> None:
    assert asked_for(answer, thing) is None


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(min_size=1, max_size=12))
def test_any_text_can_be_read(answer: str, thing: str) -> None:
    span = asked_for(answer, thing)
    assert span is None or 0 <= span[0] < span[1] <= len(answer)


def test_a_hostile_text_is_read_in_time() -> None:
    for piece in ("please send ", "what is ", "a-", "(", "- item\n", "i need your " * 3):
        assert asked_for(piece * 20_000 + "x", ORDER) is None
