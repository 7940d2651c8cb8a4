"""Asking for a thing: in a question or a listed request; not naming it, not doing without it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carob.text.prose.asking import find_request, find_request_for
from carob.text.words import WordLists

ORDER = "order number"

ASKS = [
    ("order number", "What should the order number be?"),
    ("space", "What shall the new space be called?"),
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
    ("order number", "Happy to help! To get started, could you share the order number from your confirmation email?"),
    ("order number", "I'd be glad to help with your refund. May I please have the order number?"),
    ("order number", "In order to process this, we require your order number and the email on file."),
    ("order number", "Kindly provide your order number so I can look into this."),
    ("order number", "Could I get your order number, please?"),
    ("order number", "What’s the order number?"),
    ("order number", "I’ll need your order number first."),
    ("order number", "Can you confirm the order number for me?"),
    ("order number", "Before I can proceed, I need to know your order number."),
    ("order number", "It looks like your order number is missing. Could you send it?"),
    ("order number", "To proceed with your refund, please reply with your order number (e.g. A-17)."),
    ("order number", "I need two things from you: your order number and a photo."),
    ("photo", "I need two things from you: your order number and a photo."),
    ("reason", "Would you mind telling me the reason for the return?"),
    ("shipping address", "Where should we send it? Please type in your full shipping address."),
    ("date of birth", "For security, please verify your date of birth."),
    ("phone number", "What phone number can we reach you at?"),
    ("phone number", "What's the best phone number to reach you?"),
    ("email", "Which email did you use to place the order?"),
    ("dates", "What dates are you looking at?"),
    ("budget", "Do you have a budget in mind?"),
    ("budget", "What is your budget?"),
    ("destination", "Where would you like to go? Any destination in mind?"),
    ("order number", "Ok! Order number?"),
    ("order number", "**Order number:** (please fill in)"),
    ("size", "What size do you wear?"),
    ("account number", "Could you please provide me with your account number?"),
    ("account number", "Let's get started. Your account number, please?"),
    ("order number", "I wasn't able to find your order. Could you double-check the order number?"),
    ("order number", "The order number you gave isn't valid. Please try again with a valid order number."),
    ("vehicle", "Which vehicle do you mean? Please give its id or VIN."),
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
    (ORDER, "Thanks for your order number. What is the reason?"),
    (ORDER, "Do you have any questions about your order number?"),
    (ORDER, "Let me know if you need your order number."),
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
    ("order number", "Thanks! I've located order number A-17. Would you like a refund?"),
    ("order number", "I've already got your order number, so what is the reason?"),
    ("order number", "Your order number has been refunded."),
    ("order number", "You don't have to provide an order number for this."),
    ("order number", "We never ask for your order number by phone."),
    ("order number", "I can help without an order number. What is your email?"),
    ("order number", "Your refund for order number A-17 has been issued. Is there anything else?"),
    ("order number", "Please do not share your order number with anyone."),
    ("order number", "Please hold on while I check your order number."),
    ("order number", "Please wait while I look up the order number you gave me."),
    ("order number", "I need a moment to check your order number."),
    ("order number", "Great, thank you for providing your order number. Please tell me the reason."),
    ("order number", "If you need your order number, check your email."),
    ("reason", "Can I help you with something else? There's no reason to worry."),
    ("password", "Never share your password. What is your username?"),
    ("order number", "You can send your order number to support@x.com if you like."),
    ("address", "I have updated your address. What else can I do?"),
    ("name", "My name is Ada. How can I help you?"),
    ("date", "Your delivery date is Monday. Shall I change it?"),
]


@pytest.mark.parametrize(("thing", "answer"), ASKS)
def test_asks(thing: str, answer: str) -> None:
    span = find_request_for(answer, [thing])
    assert span is not None
    assert set(answer[slice(*span)].lower()) & set(thing.lower())


@pytest.mark.parametrize(("thing", "answer"), DOES_NOT)
def test_does_not_ask(thing: str, answer: str) -> None:
    assert find_request_for(answer, [thing]) is None


@pytest.mark.parametrize(
    ("answer", "asks"),
    [
        ("Please confirm if you would like to proceed.", True),
        ("Which one?", True),
        ("Which one do you want (A or B)?", True),
        ("Kindly share the new IBAN.", True),
        ("Let me know which day suits you.", True),
        ("Let me know which day suits you. Anything else?", False),
        ("Please provide your name. Anything else?", True),
        ("Is there anything else I can do?", False),
        ("What else can I do for you?", False),
        ("Nice, isn't it?", False),
        ("See https://x.example/?a=b for more.", False),
        ("```js\na ? b : c\n```\nDone.", False),
        ('You asked "can you book it?"', False),
        ("You do not need to send me your name.", False),
    ],
)
def test_that_something_is_asked_for_at_all(answer: str, asks: bool) -> None:
    assert (find_request(answer) is not None) is asks


def test_a_suite_in_another_language_brings_its_own_words() -> None:
    swedish = WordLists.of({"request": ["vänligen ange", "jag behöver"], "courtesy": ["kan jag hjälpa"]})
    assert find_request("Vänligen ange ordernumret.") is None
    assert find_request("Vänligen ange ordernumret.", swedish) is not None
    assert find_request_for("Jag behöver ordernumret.", ["ordernumret"], swedish) is not None
    assert find_request("Kan jag hjälpa till med något mer?", swedish) is None
    assert find_request("Please provide your name.", swedish) is None


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(min_size=1, max_size=12))
def test_any_text_can_be_read(answer: str, thing: str) -> None:
    span = find_request_for(answer, [thing])
    assert span is None or 0 <= span[0] < span[1] <= len(answer)


def test_a_hostile_text_is_read_in_time() -> None:
    for piece in ("please send ", "what is ", "a-", "(", "- item\n", "i need your " * 3):
        assert find_request_for(piece * 20_000 + "x", ["zq"]) is None
