"""Writes mails.csv with 10,000 mails, or as many as the first argument says."""

import csv
import sys

SUBJECTS = ("Export crashes", "How do I print?", "Thank you", "Login fails")

with open("mails.csv", "w", newline="", encoding="utf-8") as file:
    rows = csv.writer(file)
    rows.writerow(["id", "subject", "body"])
    for number in range(1, int(sys.argv[1]) + 1 if len(sys.argv) > 1 else 10_001):
        rows.writerow([number, SUBJECTS[number % 4], f"This is mail {number}.\nKind regards"])
