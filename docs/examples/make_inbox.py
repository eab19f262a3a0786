#!/usr/bin/env python3
"""Makes the documents in `inbox/`, the folder that the README's first command reads.

    python3 -m venv .venv
    .venv/bin/pip install reportlab==5.1.0 pillow==13.0.0
    .venv/bin/python docs/examples/make_inbox.py

With these versions the output is the same every time. Companies, people's roles, addresses and accounts are
made up. The documents refer to each other; what the invoice comes to and when it is due stands only in it.
"""

import random
import shutil
from decimal import Decimal
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib import colors
from reportlab.lib.enums import TA_JUSTIFY, TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    KeepTogether,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

INBOX = Path(__file__).resolve().parent / "inbox"
# The same for `attache serve` without a folder: a crate holds nothing from outside of its own.
CARRIED = INBOX.parents[2] / "crates/cli/example"

SUPPLIER = "Fernwick Office Supply Ltd"
CUSTOMER = "Larkspur Studio Ltd"
INVOICE = "2026-0417"
ORDER = "PO-1182"
AGREEMENT = "SA-2025-11"
DELIVERY_NOTE = "DN-5531"
INVOICE_DATE = "17 April 2026"
DUE_DATE = "17 May 2026"
VAT_PERCENT = 20

INK = colors.HexColor("#1f2a37")
ACCENT = colors.HexColor("#0f5c5c")
PALE = colors.HexColor("#eef4f3")
RULE = colors.HexColor("#c9d5d3")

# Article, description, quantity, unit, price.
ITEMS = [
    ("DK-160", "Standing desk, 160 x 80 cm, oak top", 12, "pc", "389.00"),
    ("DK-CBL", "Cable tray for standing desk", 12, "pc", "18.50"),
    ("DK-PWR", "Desktop power unit, 3 sockets, 2 USB-C", 12, "pc", "46.90"),
    ("CH-ERG", "Task chair Merel, mesh back, adjustable arms", 12, "pc", "245.00"),
    ("CH-VIS", "Visitor chair Anta, stackable", 8, "pc", "79.00"),
    ("CH-STL", "Counter stool, beech", 4, "pc", "92.50"),
    ("TB-MTG", "Meeting table, 240 x 110 cm, eight seats", 1, "pc", "840.00"),
    ("TB-SID", "Side table, round, 50 cm", 3, "pc", "64.00"),
    ("ST-CAB", "Filing cabinet, three drawers, lockable", 6, "pc", "158.00"),
    ("ST-SHF", "Open shelf, 200 x 80 cm, five boards", 4, "pc", "134.00"),
    ("ST-LCK", "Locker unit, six doors", 2, "pc", "312.00"),
    ("LT-DSK", "Desk lamp, LED, dimmable", 12, "pc", "39.90"),
    ("LT-FLR", "Floor lamp, LED, 3,000 lumens", 3, "pc", "149.00"),
    ("AC-PNL", "Acoustic panel, 120 x 60 cm, grey felt", 10, "pc", "57.00"),
    ("AC-SCR", "Desk screen, 160 cm, blue felt", 6, "pc", "71.50"),
    ("WB-MOB", "Mobile whiteboard, 180 x 120 cm", 2, "pc", "265.00"),
    ("WB-MRK", "Whiteboard markers, set of eight", 5, "set", "9.80"),
    ("MT-FLR", "Floor mat for task chairs, 120 x 90 cm", 12, "pc", "27.00"),
    ("BN-REC", "Recycling station, three bins", 2, "pc", "118.00"),
    ("PL-TRO", "Planter trough, 100 cm, without plants", 3, "pc", "88.00"),
    ("CT-STD", "Coat stand, steel", 2, "pc", "54.00"),
    ("CL-WLL", "Wall clock, 40 cm, radio controlled", 2, "pc", "32.00"),
    ("MN-ARM", "Monitor arm, single, gas spring", 12, "pc", "84.00"),
    ("SV-ASM", "Assembly on site", 16, "h", "42.00"),
    ("SV-DEL", "Delivery to the second floor", 1, "trip", "180.00"),
    ("SV-DIS", "Removal and disposal of packaging", 1, "trip", "65.00"),
]


def money(amount: Decimal) -> str:
    return f"{amount:,.2f}"


def amounts() -> dict[str, Decimal]:
    subtotal = sum((Decimal(price) * quantity for _, _, quantity, _, price in ITEMS), Decimal())
    discount = (subtotal * Decimal("0.03")).quantize(Decimal("0.01"))
    net = subtotal - discount
    vat = (net * VAT_PERCENT / 100).quantize(Decimal("0.01"))
    return {"subtotal": subtotal, "discount": discount, "net": net, "vat": vat, "total": net + vat}


def style(name: str, **options) -> ParagraphStyle:
    defaults = {"fontName": "Helvetica", "fontSize": 9, "leading": 12.5, "textColor": INK}
    return ParagraphStyle(name, **(defaults | options))


BODY = style("body")
SMALL = style("small", fontSize=8, leading=11)
RIGHT = style("right", alignment=TA_RIGHT)
HEAD = style("head", fontName="Helvetica-Bold", textColor=colors.white)
HEAD_RIGHT = style("head-right", fontName="Helvetica-Bold", textColor=colors.white, alignment=TA_RIGHT)
SECTION = style("section", fontName="Helvetica-Bold", fontSize=10.5, leading=14, textColor=ACCENT, spaceBefore=8, spaceAfter=3)


class NumberedCanvas(Canvas):
    """Writes `Page 1 of 3` once the number of pages is known."""

    footer = ""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.pages: list[dict] = []

    def showPage(self):
        self.pages.append(dict(self.__dict__))
        self._startPage()

    def save(self):
        for number, page in enumerate(self.pages, start=1):
            self.__dict__.update(page)
            self.setStrokeColor(RULE)
            self.line(20 * mm, 17 * mm, A4[0] - 20 * mm, 17 * mm)
            self.setFont("Helvetica", 7.5)
            self.setFillColor(INK)
            self.drawString(20 * mm, 12.5 * mm, self.footer)
            self.drawRightString(A4[0] - 20 * mm, 12.5 * mm, f"Page {number} of {len(self.pages)}")
            super().showPage()
        super().save()


def document(name: str, title: str, author: str, story: list, footer: str, first_page=None) -> None:
    canvas = type("Canvas", (NumberedCanvas,), {"footer": footer})
    template = SimpleDocTemplate(
        str(INBOX / name),
        pagesize=A4,
        leftMargin=20 * mm,
        rightMargin=20 * mm,
        topMargin=20 * mm,
        bottomMargin=22 * mm,
        title=title,
        author=author,
        invariant=1,
    )
    template.build(story, onFirstPage=first_page or (lambda *_: None), canvasmaker=canvas)


def make_invoice() -> None:
    sums = amounts()

    def letterhead(canvas: Canvas, _template) -> None:
        canvas.saveState()
        canvas.setFillColor(ACCENT)
        canvas.rect(0, A4[1] - 30 * mm, A4[0], 30 * mm, stroke=0, fill=1)
        canvas.setFillColor(colors.white)
        canvas.setFont("Helvetica-Bold", 17)
        canvas.drawString(20 * mm, A4[1] - 16 * mm, SUPPLIER)
        canvas.setFont("Helvetica", 8.5)
        canvas.drawString(20 * mm, A4[1] - 22.5 * mm, "4 Mill Wharf, Ostenby  ·  accounts@fernwick.example  ·  VAT no. XX 204 118 77")
        canvas.setFont("Helvetica-Bold", 20)
        canvas.drawRightString(A4[0] - 20 * mm, A4[1] - 18 * mm, "INVOICE")
        canvas.restoreState()

    facts = [
        ("Invoice number", INVOICE),
        ("Invoice date", INVOICE_DATE),
        ("Due date", DUE_DATE),
        ("Your order", f"{ORDER} of 2 March 2026"),
        ("Delivery note", f"{DELIVERY_NOTE} of 14 April 2026"),
        ("Agreement", AGREEMENT),
    ]
    address = Paragraph(
        f"<b>Bill to</b><br/>{CUSTOMER}<br/>Accounts payable<br/>27 Lantern Street, second floor<br/>Ostenby OY4 2LK",
        BODY,
    )
    fact_table = Table(
        [[Paragraph(label, BODY), Paragraph(f"<b>{value}</b>", BODY)] for label, value in facts],
        colWidths=[32 * mm, 50 * mm],
        style=TableStyle([("TOPPADDING", (0, 0), (-1, -1), 0.8), ("BOTTOMPADDING", (0, 0), (-1, -1), 0.8)]),
    )
    rows = [
        [
            Paragraph("Pos.", HEAD_RIGHT),
            Paragraph("Article", HEAD),
            Paragraph("Description", HEAD),
            Paragraph("Quantity", HEAD_RIGHT),
            Paragraph("Unit price", HEAD_RIGHT),
            Paragraph("Amount EUR", HEAD_RIGHT),
        ]
    ]
    for position, (article, description, quantity, unit, price) in enumerate(ITEMS, start=1):
        rows.append(
            [
                Paragraph(str(position), RIGHT),
                Paragraph(article, BODY),
                Paragraph(description, BODY),
                Paragraph(f"{quantity} {unit}", RIGHT),
                Paragraph(money(Decimal(price)), RIGHT),
                Paragraph(money(Decimal(price) * quantity), RIGHT),
            ]
        )
    items = Table(
        rows,
        colWidths=[11 * mm, 20 * mm, 75 * mm, 20 * mm, 21 * mm, 23 * mm],
        repeatRows=1,
        style=TableStyle(
            [
                ("BACKGROUND", (0, 0), (-1, 0), ACCENT),
                ("ROWBACKGROUNDS", (0, 1), (-1, -1), [colors.white, PALE]),
                ("LINEBELOW", (0, 1), (-1, -1), 0.3, RULE),
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("LEFTPADDING", (0, 0), (-1, -1), 4),
                ("RIGHTPADDING", (0, 0), (-1, -1), 4),
                ("TOPPADDING", (0, 0), (-1, -1), 6),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 6),
            ]
        ),
    )
    totals = Table(
        [
            [Paragraph("Subtotal", BODY), Paragraph(f"EUR {money(sums['subtotal'])}", RIGHT)],
            [Paragraph(f"Discount 3% (agreement {AGREEMENT})", BODY), Paragraph(f"EUR -{money(sums['discount'])}", RIGHT)],
            [Paragraph("Net amount", BODY), Paragraph(f"EUR {money(sums['net'])}", RIGHT)],
            [Paragraph(f"VAT {VAT_PERCENT}%", BODY), Paragraph(f"EUR {money(sums['vat'])}", RIGHT)],
            [Paragraph("<b>Total due</b>", BODY), Paragraph(f"<b>EUR {money(sums['total'])}</b>", RIGHT)],
        ],
        colWidths=[58 * mm, 36 * mm],
        hAlign="RIGHT",
        style=TableStyle(
            [
                ("LINEABOVE", (0, 2), (-1, 2), 0.5, RULE),
                ("LINEABOVE", (0, 4), (-1, 4), 0.9, ACCENT),
                ("BACKGROUND", (0, 4), (-1, 4), PALE),
                ("TOPPADDING", (0, 0), (-1, -1), 3),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
            ]
        ),
    )
    story = [
        Spacer(1, 17 * mm),
        Table([[address, fact_table]], colWidths=[88 * mm, 82 * mm], style=[("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (0, 0), 0)]),
        Spacer(1, 7 * mm),
        items,
        Spacer(1, 5 * mm),
        KeepTogether([totals]),
        KeepTogether(
            [
                Paragraph("Payment terms", SECTION),
                Paragraph(
                    f"The total amount of EUR {money(sums['total'])} is due on {DUE_DATE}, 30 days after the invoice date. "
                    f"Please pay by bank transfer and quote invoice number {INVOICE}. After the due date we charge "
                    "interest of 0.5% for each month begun.",
                    BODY,
                ),
                Spacer(1, 2 * mm),
                Table(
                    [
                        [Paragraph("Account holder", BODY), Paragraph(SUPPLIER, BODY)],
                        [Paragraph("Bank", BODY), Paragraph("Ostenby Mutual Bank", BODY)],
                        [Paragraph("IBAN", BODY), Paragraph("XX12 3456 7890 1234 5678 90", BODY)],
                        [Paragraph("Reference", BODY), Paragraph(INVOICE, BODY)],
                    ],
                    colWidths=[35 * mm, 80 * mm],
                    hAlign="LEFT",
                    style=TableStyle([("LEFTPADDING", (0, 0), (-1, -1), 0), ("TOPPADDING", (0, 0), (-1, -1), 1), ("BOTTOMPADDING", (0, 0), (-1, -1), 1)]),
                ),
                Paragraph("Remarks", SECTION),
                Paragraph(
                    f"Goods delivered on 14 April 2026 with delivery note {DELIVERY_NOTE} and assembled on 15 April 2026. "
                    "Two visitor chairs (CH-VIS) were reported as damaged; replacements are free of charge and do not "
                    "change this invoice. Goods remain our property until they are paid in full.",
                    BODY,
                ),
            ]
        ),
    ]
    document(f"invoice-{INVOICE}.pdf", f"Invoice {INVOICE}", SUPPLIER, story, f"{SUPPLIER}  ·  Invoice {INVOICE}", letterhead)


AGREEMENT_TEXT = [
    (
        "Subject",
        [
            "The Supplier delivers office furniture, lighting and related services to the Customer as the Customer orders "
            "them. This agreement governs all orders that the Customer places during its term. It contains no duty to order.",
            "Terms of either party that differ from this agreement apply only if both parties accept them in writing.",
        ],
    ),
    (
        "Orders and prices",
        [
            "The Customer orders in writing and states an order number. The Supplier confirms an order within three working "
            "days. Without a confirmation the order lapses.",
            "Prices are those of the Supplier's list of 1 October 2025, which stay fixed until 30 September 2026. On orders "
            "with a net value above EUR 10,000 the Supplier grants a discount of 3% on the whole order.",
            "Delivery to the place of use costs EUR 180 for each trip. Assembly is charged at EUR 42 for each hour.",
        ],
    ),
    (
        "Delivery",
        [
            "The Supplier delivers within six weeks of the confirmation. If a delivery is late by more than two weeks, the "
            "Customer may claim 0.5% of the net value of the late goods for each full week, at most 5%.",
            "Each delivery comes with a delivery note. The Customer signs it on receipt and notes visible damage on it.",
        ],
    ),
    (
        "Inspection and defects",
        [
            "The Customer inspects the goods within ten working days and reports defects in writing. Hidden defects are "
            "reported within ten working days of their discovery.",
            "The Supplier replaces or repairs defective goods at its own cost within four weeks. If that fails twice, the "
            "Customer may return the goods and is refunded their price.",
            "The warranty period is five years for desks and chairs and two years for all other goods.",
        ],
    ),
    (
        "Invoices and payment",
        [
            "The Supplier invoices each delivery after the goods have been assembled. An invoice states the order number and "
            "the number of the delivery note.",
            "Invoices are payable within 30 days of the invoice date. The Customer may withhold a part of the price that is "
            "in proportion to a reported defect, but not more than 10% of the invoice.",
            "On late payments the Supplier may charge interest of 0.5% for each month begun.",
        ],
    ),
    (
        "Retention of title",
        [
            "Goods remain the property of the Supplier until they have been paid in full. The Customer keeps them insured "
            "against fire, water and theft until then.",
        ],
    ),
    (
        "Liability",
        [
            "Each party is liable without limit for intent, gross negligence and injury to persons. For slight negligence "
            "liability is limited to the net value of the order concerned.",
            "Neither party is liable for what is beyond its control, such as strikes, floods or the closure of roads. It "
            "tells the other party without delay.",
        ],
    ),
    (
        "Confidentiality",
        [
            "The parties keep prices, plans of the premises and other information that is marked as confidential to "
            "themselves, during the term and for three years after it.",
        ],
    ),
    (
        "Contacts",
        [
            "Each party names a contact for orders and one for complaints, and tells the other of any change within five "
            "working days. For the Customer these are the office manager and accounts payable; for the Supplier the key "
            "account desk and the service desk.",
        ],
    ),
    (
        "Term and notice",
        [
            "This agreement begins on 1 December 2025 and runs for two years. It is extended by one year at a time unless a "
            "party gives notice in writing at least three months before its end.",
            "Either party may end it at once for good cause, in particular if the other is more than 60 days late with a "
            "payment or delivery.",
            "Orders that were confirmed before the end of the agreement are carried out under its terms.",
        ],
    ),
    (
        "Final provisions",
        [
            "Changes to this agreement need the written form; so does a waiver of this requirement. If a provision is void, "
            "the others stay in force, and the parties replace it with one that comes closest to its purpose.",
            "The courts of Ostenby have jurisdiction.",
        ],
    ),
]


def make_agreement() -> None:
    serif = {"fontName": "Times-Roman", "fontSize": 11.5, "leading": 16.5}
    text = style("clause", **serif, alignment=TA_JUSTIFY, leftIndent=12 * mm, bulletFontName="Times-Roman", bulletFontSize=11.5, spaceAfter=6)
    plain = style("plain", **serif, spaceAfter=5)
    heading = style("heading", fontName="Times-Bold", fontSize=13, leading=17, spaceBefore=13, spaceAfter=6)
    title = style("title", fontName="Times-Bold", fontSize=22, leading=28, spaceAfter=3)
    cell = style("cell", **serif)
    cell_bold = style("cell-bold", **(serif | {"fontName": "Times-Bold"}))

    story = [
        Paragraph("Supply Agreement", title),
        Paragraph(f"No. {AGREEMENT}", plain),
        Spacer(1, 4 * mm),
        Paragraph("between", plain),
        Paragraph(f"<b>{SUPPLIER}</b>, 4 Mill Wharf, Ostenby (the Supplier)", plain),
        Paragraph("and", plain),
        Paragraph(f"<b>{CUSTOMER}</b>, 27 Lantern Street, Ostenby OY4 2LK (the Customer)", plain),
        Spacer(1, 3 * mm),
    ]
    for number, (name, clauses) in enumerate(AGREEMENT_TEXT, start=1):
        paragraphs = [
            Paragraph(clause, text, bulletText=f"{number}.{index}")
            for index, clause in enumerate(clauses, start=1)
        ]
        story.append(KeepTogether([Paragraph(f"{number}.&nbsp;&nbsp;{name}", heading), paragraphs[0]]))
        story.extend(paragraphs[1:])

    limits = [
        ("Subject", "Period or amount", "Clause"),
        ("Order confirmation", "3 working days", "2.1"),
        ("Discount above EUR 10,000 net", "3%", "2.2"),
        ("Delivery", "6 weeks", "3.1"),
        ("Report of defects", "10 working days", "4.1"),
        ("Warranty, desks and chairs", "5 years", "4.3"),
        ("Payment", "30 days", "5.2"),
        ("Notice", "3 months before the end", "10.1"),
    ]
    schedule = Table(
        [[Paragraph(value, cell_bold if row == 0 else cell) for value in values] for row, values in enumerate(limits)],
        colWidths=[80 * mm, 55 * mm, 25 * mm],
        hAlign="LEFT",
        style=TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.5, INK),
                ("BACKGROUND", (0, 0), (-1, 0), PALE),
                ("TOPPADDING", (0, 0), (-1, -1), 2.5),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 4),
            ]
        ),
    )
    signatures = Table(
        [
            [Paragraph("Ostenby, 24 November 2025", cell), "", Paragraph("Ostenby, 26 November 2025", cell)],
            ["", "", ""],
            [Paragraph(f"For {SUPPLIER}", cell), "", Paragraph(f"For {CUSTOMER}", cell)],
            [Paragraph("Head of Sales", cell), "", Paragraph("Managing Director", cell)],
        ],
        colWidths=[75 * mm, 15 * mm, 75 * mm],
        rowHeights=[20, 40, 20, 20],
        hAlign="LEFT",
        style=TableStyle(
            [
                ("LINEABOVE", (0, 2), (0, 2), 0.6, INK),
                ("LINEABOVE", (2, 2), (2, 2), 0.6, INK),
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("TOPPADDING", (0, 0), (-1, -1), 4),
            ]
        ),
    )
    story += [
        KeepTogether([Paragraph("Schedule: periods and amounts at a glance", heading), schedule]),
        KeepTogether([Spacer(1, 10 * mm), signatures]),
    ]
    document(
        f"supply-agreement-{AGREEMENT}.pdf",
        f"Supply Agreement {AGREEMENT}",
        SUPPLIER,
        story,
        f"Supply Agreement {AGREEMENT}",
    )


# Date, supplier, reference, category, net amount, VAT, status.
EXPENSES = [
    ("2026-03-02", "Ostenby Power & Light", "EL-88120", "Utilities", "412.80", "82.56", "paid"),
    ("2026-03-03", "Brightline Telecom", "T-26030091", "Telephone", "129.00", "25.80", "paid"),
    ("2026-03-04", "Lantern Street Estates", "RENT-2026-03", "Rent", "4850.00", "0.00", "paid"),
    ("2026-03-06", "Copperkettle Coffee", "CK-3312", "Kitchen", "86.40", "17.28", "paid"),
    ("2026-03-09", "Papermill & Sons", "PM-10442", "Stationery", "214.15", "42.83", "paid"),
    ("2026-03-11", "Harbour Cabs", "HC-77120", "Travel", "64.00", "12.80", "paid"),
    ("2026-03-12", "Northgate Rail", "NR-558-201", "Travel", "188.00", "0.00", "paid"),
    ("2026-03-13", "Quickwater Cleaning", "QW-0326", "Cleaning", "640.00", "128.00", "paid"),
    ("2026-03-16", "Stackwell Hosting", "SW-2026-311", "Software", "349.00", "69.80", "paid"),
    ("2026-03-18", "Typewright Fonts", "TF-9921", "Software", "120.00", "24.00", "paid"),
    ("2026-03-20", "Ostenby Water", "OW-40188", "Utilities", "97.35", "0.00", "paid"),
    ("2026-03-23", "Fernwick Office Supply Ltd", "2026-0298", "Furniture", "316.00", "63.20", "paid"),
    ("2026-03-25", "Copperkettle Coffee", "CK-3377", "Kitchen", "91.20", "18.24", "paid"),
    ("2026-03-27", "Gable & Partners", "GP-2026-14", "Accounting", "950.00", "190.00", "paid"),
    ("2026-03-30", "Swiftpost Couriers", "SP-12007", "Postage", "73.90", "14.78", "paid"),
    ("2026-04-01", "Ostenby Power & Light", "EL-88764", "Utilities", "398.10", "79.62", "paid"),
    ("2026-04-02", "Brightline Telecom", "T-26040088", "Telephone", "129.00", "25.80", "paid"),
    ("2026-04-02", "Lantern Street Estates", "RENT-2026-04", "Rent", "4850.00", "0.00", "paid"),
    ("2026-04-07", "Papermill & Sons", "PM-10519", "Stationery", "58.70", "11.74", "paid"),
    ("2026-04-08", "Harbour Cabs", "HC-77984", "Travel", "41.50", "8.30", "paid"),
    ("2026-04-10", "Quickwater Cleaning", "QW-0426", "Cleaning", "640.00", "128.00", "paid"),
    ("2026-04-13", "Hollow Tree Catering", "HT-2218", "Events", "486.00", "97.20", "paid"),
    ("2026-04-15", "Stackwell Hosting", "SW-2026-402", "Software", "349.00", "69.80", "paid"),
    ("2026-04-16", "Greenfinch Plants", "GF-615", "Furniture", "275.00", "55.00", "open"),
    ("2026-04-17", "Fernwick Office Supply Ltd", INVOICE, "Furniture", "", "", "received, not booked yet"),
    ("2026-04-20", "Copperkettle Coffee", "CK-3420", "Kitchen", "88.80", "17.76", "paid"),
    ("2026-04-21", "Swiftpost Couriers", "SP-12391", "Postage", "39.60", "7.92", "open"),
    ("2026-04-22", "Gable & Partners", "GP-2026-21", "Accounting", "950.00", "190.00", "open"),
    ("2026-04-23", "Northgate Rail", "NR-561-877", "Travel", "212.00", "0.00", "paid"),
    ("2026-04-24", "Bellwether Insurance", "BI-70-3318", "Insurance", "1180.00", "0.00", "open"),
]


def make_expenses() -> None:
    lines = ["date,supplier,reference,category,net_eur,vat_eur,status"]
    lines += [",".join(f'"{value}"' if "," in value else value for value in row) for row in EXPENSES]
    (INBOX / "expenses-2026-spring.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def make_notes() -> None:
    notes = f"""# Weekly operations meeting, 21 April 2026

Present: managing director, office manager, accounts payable, design lead

## New office furniture

- Everything on order {ORDER} arrived on 14 April and was assembled the day after ({DELIVERY_NOTE}).
- Two of the eight visitor chairs have scratched legs. The office manager reported them on 16 April; {SUPPLIER}
  has promised replacements for the week of 4 May.
- Invoice **{INVOICE}** has come in. Accounts payable checks it against the order and the discount we are entitled to
  under agreement {AGREEMENT}, then books it. The managing director releases the payment; we do not hold anything back
  for the chairs.

## Rooms

| Room | Desks | Ready |
|---|--:|---|
| North | 6 | yes |
| South | 6 | yes |
| Library | 0 | acoustic panels still to be mounted |

## Other points

1. The cleaning contract with Quickwater ends in June. The office manager asks for two more quotes.
2. Greenfinch delivers the plants for the three planters on 28 April.
3. The open house is moved to 11 June; the design lead books the caterer.

Next meeting: 28 April 2026, 10:00, South room
"""
    (INBOX / "meeting-notes-2026-04-21.md").write_text(notes, encoding="utf-8", newline="\n")


def make_mail() -> None:
    mail = f"""From: Service desk <service@fernwick.example>
To: Office manager <office@larkspur.example>
Cc: accounts@larkspur.example
Date: Fri, 24 Apr 2026 09:12:00 +0200
Subject: Your report on order {ORDER}: two visitor chairs

Good morning,

thank you for the photos. We will replace both visitor chairs (article CH-VIS) free of charge. The new ones
leave our warehouse on 4 May; our driver takes the scratched ones back and needs a signature on delivery
note {DELIVERY_NOTE}-R.

The replacement changes nothing about invoice {INVOICE}, which you have received separately. Its payment terms
stand as printed there.

You also asked about the warranty: under clause 4.3 of agreement {AGREEMENT} it is five years for desks and chairs.

Kind regards
Service desk
{SUPPLIER}
"""
    (INBOX / "mail-2026-04-24-chairs.txt").write_text(mail, encoding="utf-8", newline="\n")


def make_delivery_note() -> None:
    """A delivery note as a phone would see it: on a desk, a little askew, signed and stamped."""
    chance = random.Random(5531)
    paper = Image.new("RGB", (560, 760), "#fbfaf4")
    draw = ImageDraw.Draw(paper)
    font = lambda size: ImageFont.load_default(size)
    draw.rectangle((0, 0, 560, 58), fill="#0f5c5c")
    draw.text((26, 16), "Fernwick Office Supply", font=font(24), fill="white")
    draw.text((26, 82), f"DELIVERY NOTE {DELIVERY_NOTE}", font=font(21), fill="#1f2a37")
    draw.text((26, 112), f"14 April 2026    Order {ORDER}", font=font(15), fill="#1f2a37")
    draw.text((26, 134), "Larkspur Studio, 27 Lantern Street, Ostenby", font=font(15), fill="#1f2a37")
    shown = [item for item in ITEMS if not item[0].startswith("SV")][:12]
    top = 176
    draw.line((26, top - 8, 534, top - 8), fill="#1f2a37", width=2)
    for index, (article, description, quantity, _, _) in enumerate(shown):
        y = top + index * 27
        draw.text((26, y), article, font=font(14), fill="#1f2a37")
        draw.text((108, y), description[:40], font=font(14), fill="#1f2a37")
        draw.text((470, y), str(quantity), font=font(14), fill="#1f2a37")
        draw.line((508, y + 9, 513, y + 15, 524, y + 1), fill="#27509b", width=3)
        draw.line((26, y + 22, 534, y + 22), fill="#d9d9d0", width=1)
    draw.text((26, 512), "and 11 further items, complete", font=font(14), fill="#1f2a37")
    draw.text((60, 560), "2 chairs CH-VIS: legs scratched!", font=font(20), fill="#27509b")
    draw.line((26, 690, 250, 690), fill="#1f2a37", width=1)
    draw.text((26, 696), "Received", font=font(13), fill="#1f2a37")
    pen = [(40, 676)]
    for step in range(1, 24):
        pen.append((40 + step * 8, 664 + chance.randint(-22, 18)))
    draw.line(pen, fill="#27509b", width=3, joint="curve")
    stamp = Image.new("RGBA", (190, 100), (0, 0, 0, 0))
    mark = ImageDraw.Draw(stamp)
    mark.rounded_rectangle((4, 4, 186, 96), 14, outline="#b3261e", width=4)
    mark.text((30, 16), "DELIVERED", font=font(23), fill="#b3261e")
    mark.text((44, 52), "14 APR 2026", font=font(18), fill="#b3261e")
    stamp = stamp.rotate(11, expand=True, resample=Image.Resampling.BICUBIC)
    paper.paste(stamp, (330, 620), stamp)

    desk = Image.new("RGB", (480, 620), "#8b6b4a")
    grain = ImageDraw.Draw(desk)
    for y in range(0, 620, 3):
        shade = chance.randint(-9, 9)
        grain.line((0, y, 480, y + chance.randint(-4, 4)), fill=(139 + shade, 107 + shade, 74 + shade), width=3)
    sheet = paper.resize((400, 543), Image.Resampling.LANCZOS).convert("RGBA")
    sheet = sheet.rotate(-2.4, expand=True, resample=Image.Resampling.BICUBIC)
    shadow = Image.new("RGBA", sheet.size, (20, 12, 4, 0))
    shadow.putalpha(sheet.getchannel("A").point(lambda alpha: alpha * 120 // 255))
    for layer, at in ((shadow.filter(ImageFilter.GaussianBlur(5)), (38, 36)), (sheet, (30, 28))):
        desk.paste(layer, at, layer)
    desk.quantize(40, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        INBOX / f"delivery-note-{DELIVERY_NOTE}.png", optimize=True
    )


def main() -> None:
    INBOX.mkdir(exist_ok=True)
    for make in (make_invoice, make_agreement, make_expenses, make_notes, make_mail, make_delivery_note):
        make()
    shutil.copytree(INBOX, CARRIED, dirs_exist_ok=True)
    for path in sorted(INBOX.iterdir()):
        print(f"{path.stat().st_size:>7}  {path.name}")


if __name__ == "__main__":
    main()
