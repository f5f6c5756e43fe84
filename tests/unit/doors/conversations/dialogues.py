"""Dialogues that we made: a user who keeps to its goal, and an agent who answers."""

from __future__ import annotations

from tests.unit.doors.conversations.seeding import Spoken

from evenhand.doors.conversations.contract import UserContract

U, A = "user", "assistant"

DIALOGUES = (
    Spoken(
        "late parcel",
        UserContract(
            "You ordered a lamp, and the parcel is late. You want your money back. You do not want a voucher.",
            {"order number": "4417-88", "name": "Nora Lindqvist"},
        ),
        (
            (U, "Hi, my lamp still hasn't arrived and I would like my money back."),
            (A, "I am sorry to hear that. Could you please give me your order number?"),
            (U, "It's 4417-88."),
            (A, "Thank you. The parcel is lost. Would you like a voucher of $40, or a refund?"),
            (U, "No voucher, please. I would rather have the refund."),
            (
                A,
                "The refund of $39.90 has been issued. Is there anything else I can help you with?",
            ),
            (U, "No, that's all. Thank you! ###STOP###"),
        ),
    ),
    Spoken(
        "hotel",
        UserContract(
            "You want to move your stay at the hotel by one night and to know whether breakfast is included."
            " If it costs more than 30 dollars, leave the booking as it is.",
            {"booking code": "KX82PL", "guests": 2},
        ),
        (
            (U, "Good morning! I'd like to move my stay by one night, is that possible?"),
            (A, "Good morning! Certainly. May I have your booking code?"),
            (U, "Sure, the booking code is KX82PL. It's for two guests."),
            (A, "Moving it costs $25. Shall I go ahead?"),
            (U, "Yes, please go ahead. Is breakfast included, by the way?"),
            (A, "Breakfast is included. Your stay is now from May 4 to May 7."),
            (U, "Wonderful, thanks for your help! ###STOP###"),
        ),
    ),
    Spoken(
        "phone contract",
        UserContract(
            "You pay too much for your phone contract and want a cheaper one, or you will leave. You are impatient.",
            {"customer id": "mara_holt_5521", "phone number": "555-010-7788"},
        ),
        (
            (U, "My phone contract is way too expensive. What can you offer me?"),
            (A, "I can look at that. What is your customer ID?"),
            (U, "mara_holt_5521. And please be quick, I don't have all day."),
            (A, "We have a contract with 10 GB for $15 a month. Do you want to switch?"),
            (U, "Does that include calls abroad?"),
            (A, "No, calls abroad cost $5 more."),
            (U, "Fine, I'll take it with the calls. 20 dollars is still less than what I pay now."),
            (A, "Done. Your new contract 88-213 begins on June 1. Anything else?"),
            (U, "No. Bye. ###STOP###"),
        ),
    ),
    Spoken(
        "doctor",
        UserContract(
            "You want an appointment with a skin doctor next week, in the afternoon only.",
            {"name": "Omar Haddad", "date of birth": "1984-03-17"},
        ),
        (
            (U, "Hello, I need an appointment with a skin doctor next week."),
            (A, "Of course. Please tell me your name and your date of birth."),
            (U, "My name is Omar Haddad, and I was born on March 17, 1984."),
            (
                A,
                "Thank you, Mr. Haddad. Dr. Weiss has a slot on Tuesday at 9:15 AM. Does that suit you?",
            ),
            (U, "Sorry, I can only come in the afternoon."),
            (A, "Then Thursday at 3:30 PM?"),
            (U, "Thursday at 3:30 PM is perfect."),
            (A, "You are booked for Thursday, 3:30 PM, number T-2290. Do you need anything else?"),
            (U, "That's it, thank you very much. ###STOP###"),
        ),
    ),
    Spoken(
        "bank",
        UserContract(
            "Your card was charged twice at a petrol station. You want one of the charges back. You don't remember the"
            " exact time.",
            {"card": "9031", "amount": "61.20"},
        ),
        (
            (U, "I was charged twice at a petrol station yesterday, can you fix that?"),
            (
                A,
                "Let me see. What are the last four digits of your card, and when was that exactly?",
            ),
            (U, "The card ends in 9031. I don't remember when exactly, some time in the evening."),
            (
                A,
                "I see two charges of $61.20, at 18:02 and 18:03. Do you want to dispute the second one?",
            ),
            (U, "Yes, the one at 18:03, please."),
            (A, "The dispute is filed as D55310. You will hear from us within ten days."),
            (U, "Ten days? Can't that be any faster?"),
            (A, "I am afraid not: the other bank has to confirm it. Is there anything else?"),
            (U, "Okay, I will wait then. Thanks. ###STOP###"),
        ),
    ),
)
