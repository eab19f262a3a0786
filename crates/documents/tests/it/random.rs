//! Random conversations, materials and models.

use attache_core::converter::{PageImage, RenderedPages, Transcoded, Units};
use attache_core::{Capture, ContentTree, Document, DocumentId, MediaType, ModelCapabilities, ResultStatus};
use attache_documents::{
    BackReferences, ConvertedText, DocumentBudget, ExternalDocuments, LabelProfile, Material, Materials,
    RouteOptions, plan,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::builder::{Chat, PDF, PNG, media, model};

/// A document, where its bytes are, and what a converter says of it.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    kind: usize,
    name: String,
    whereabouts: Whereabouts,
    convertible: Option<bool>,
    inside: usize,
    /// True if it has the id of the one before it, as the next version of a document may.
    again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Whereabouts {
    Memory,
    Loaded,
    Missing,
    NotLoaded,
}

const KINDS: &[(&str, &[u8])] = &[
    ("application/pdf", PDF),
    ("image/png", PNG),
    ("text/csv", b"a,b\n1,2\n"),
    ("application/zip", b"PK\x03\x04 packed"),
    ("image/svg+xml", b"<svg><document filename=\"x\" /></svg>"),
    ("audio/wav", b"RIFF....WAVE"),
    ("text/plain", b"\x01\x02\xff\xfe"),
    ("text/plain", b" \n"),
    ("application/pdf", b""),
    ("text/plain; charset=utf-16le", b"h\0i\0"),
    ("image/png", LARGE),
    ("application/pdf", THREE_PAGES),
    ("application/pdf", HIDDEN_PAGES),
];

/// An image whose header says 3 × 2 pixels.
pub(crate) const LARGE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x02\0\0\0";
pub(crate) const THREE_PAGES: &[u8] = b"%PDF-1\n<</Type/Page>><</Type/Page>><</Type/Page>>";
pub(crate) const HIDDEN_PAGES: &[u8] = b"%PDF-1\n<</Type/ObjStm/Filter/Crypt>>stream\n?\nendstream";

/// A kind beyond the table stands for inline text, the next for a URL.
const INLINE: usize = KINDS.len();
const EXTERNAL: usize = KINDS.len() + 1;

fn sample() -> impl Strategy<Value = Sample> {
    let whereabouts = prop_oneof![
        3 => Just(Whereabouts::Memory),
        2 => Just(Whereabouts::Loaded),
        1 => Just(Whereabouts::Missing),
        1 => Just(Whereabouts::NotLoaded),
    ];
    let name = prop_oneof![Just(String::new()), "[a-c]\\.(pdf|csv)", any::<String>()];
    let inside = prop_oneof![2 => Just(0), 1 => 1_usize..4];
    let again = prop::bool::weighted(0.2);
    (0..KINDS.len() + 2, name, whereabouts, proptest::option::of(any::<bool>()), inside, again).prop_map(
        |(kind, name, whereabouts, convertible, inside, again)| Sample {
            kind,
            name,
            whereabouts,
            convertible,
            inside,
            again,
        },
    )
}

impl Sample {
    fn document(&self, at: usize, materials: &mut Materials) -> Document {
        let at = if self.again { at.saturating_sub(1) } else { at };
        // Short ids collide now and then.
        let id = DocumentId::parse(format!("{:04x}-{at:04x}-4000", at / 2)).unwrap();
        let stored = |media_type| Document::stored(id.clone(), "main", media_type);
        let (media_type, bytes) = KINDS.get(self.kind).copied().unwrap_or(("application/pdf", PDF));
        let document = match (self.kind, self.whereabouts) {
            (INLINE, _) => Document::inline("inline text").with_id(id.clone()),
            (EXTERNAL, _) => {
                Document::external(format!("https://x.example/{}.pdf", at / 2)).with_id(id.clone())
            }
            (_, Whereabouts::Memory) => Document::from_bytes(bytes, media_type).with_id(id.clone()),
            _ => stored(media_type).with_size(bytes.len() as u64),
        };
        let document = document.with_file_name(self.name.clone()).with_media_type(media_type);
        match self.whereabouts {
            Whereabouts::Loaded => materials.insert(&document, Material::Bytes(bytes.into())),
            Whereabouts::Missing => materials.insert(&document, Material::Missing("gone".into())),
            Whereabouts::Memory | Whereabouts::NotLoaded => {}
        }
        match self.convertible {
            Some(true) => materials.insert(&document, self.text()),
            Some(false) => materials.insert(&document, Material::Unconvertible("broken".into())),
            None => {}
        }
        document
    }

    /// Text of two pages, with documents inside.
    fn text(&self) -> ConvertedText {
        let text = ConvertedText::new("[page 1]\nmade text\n[page 2]\nmore\n").with_units(Units::new(
            "page",
            vec![0, 19],
            2,
        ));
        KINDS.iter().take(self.inside).fold(text, |text, (media_type, bytes)| {
            text.with_attachment(Document::from_bytes(*bytes, media_type).with_file_name("inside"))
        })
    }

    /// True if any model of text takes it from an author.
    fn is_harmless(&self) -> bool {
        self.kind == 2 && matches!(self.whereabouts, Whereabouts::Memory | Whereabouts::Loaded)
            || self.kind == INLINE
    }
}

#[derive(Clone, Debug)]
struct Output {
    documents: Vec<Index>,
    status: ResultStatus,
    withheld: Vec<bool>,
    named: bool,
}

#[derive(Clone, Debug)]
enum Round {
    Calls(Vec<Output>),
    Event(Vec<Index>),
}

#[derive(Clone, Debug)]
struct Turn {
    attached: Vec<Index>,
    rounds: Vec<Round>,
    answered: bool,
}

/// A conversation with everything that routing it needs.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) chat: Chat,
    pub(crate) materials: Materials,
    /// All documents, those that some models do not take included.
    pub(crate) pool: Vec<Document>,
    /// Where turns begin.
    pub(crate) starts: Vec<usize>,
    /// Where a request could have been sent: the messages before these indices.
    pub(crate) requests: Vec<usize>,
}

fn turn() -> impl Strategy<Value = Turn> {
    let documents = || prop::collection::vec(any::<Index>(), 0..4);
    let status = prop_oneof![
        6 => Just(ResultStatus::Ok),
        1 => Just(ResultStatus::Error),
        1 => Just(ResultStatus::Cancelled),
    ];
    let output = (documents(), status, prop::collection::vec(prop::bool::weighted(0.2), 4), any::<bool>())
        .prop_map(|(documents, status, withheld, named)| Output { documents, status, withheld, named });
    let round = prop_oneof![
        3 => prop::collection::vec(output, 1..3).prop_map(Round::Calls),
        1 => documents().prop_map(Round::Event),
    ];
    (prop::collection::vec(any::<Index>(), 0..2), prop::collection::vec(round, 0..3), any::<bool>())
        .prop_map(|(attached, rounds, answered)| Turn { attached, rounds, answered })
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    (prop::collection::vec(sample(), 1..7), prop::collection::vec(turn(), 1..4)).prop_map(
        |(samples, turns)| {
            let mut materials = Materials::new();
            let pool: Vec<Document> =
                samples.iter().enumerate().map(|(at, sample)| sample.document(at, &mut materials)).collect();
            let harmless: Vec<Document> = pool
                .iter()
                .zip(&samples)
                .filter(|(_, sample)| sample.is_harmless())
                .map(|(document, _)| document.clone())
                .collect();
            let pick = |from: &[Document], chosen: &[Index]| -> Vec<Document> {
                if from.is_empty() {
                    Vec::new()
                } else {
                    chosen.iter().map(|at| at.get(from).clone()).collect()
                }
            };
            let tree = |chosen: &[Index]| -> ContentTree {
                Capture::new().with_store_id("main").finish(&("x", pick(&pool, chosen))).unwrap()
            };
            let mut chat = Chat::new();
            let (mut starts, mut requests) = (Vec::new(), Vec::new());
            for turn in &turns {
                starts.push(chat.messages.len());
                chat = chat.author("ask", &pick(&harmless, &turn.attached));
                requests.push(chat.messages.len());
                for round in &turn.rounds {
                    chat = match round {
                        Round::Event(documents) => chat.event(tree(documents)),
                        Round::Calls(outputs) => {
                            let trees: Vec<_> =
                                outputs.iter().map(|o| ("find.it", tree(&o.documents))).collect();
                            chat.calls_with(&trees, |at, result| {
                                let output = &outputs[at];
                                result.status = output.status;
                                if !output.named {
                                    result.tool_name = None;
                                }
                                let mut withheld = output.withheld.iter();
                                let (hidden, shown): (Vec<_>, Vec<_>) = result
                                    .documents
                                    .drain(..)
                                    .partition(|_| withheld.next().copied().unwrap_or(false));
                                result.documents = shown;
                                result.withheld =
                                    hidden.iter().map(|document| document.id().clone()).collect();
                            })
                        }
                    };
                    requests.push(chat.messages.len());
                }
                if turn.answered {
                    chat = chat.reply("answer");
                }
            }
            // A turn without an answer is cut off; the next one's first message would stand beside its results.
            starts.retain(|start| {
                *start == 0 || matches!(&*chat.messages[*start - 1], attache_core::Message::Assistant(_))
            });
            Case { chat, materials, pool, starts, requests }
        },
    )
}

fn place() -> impl Strategy<Value = Vec<String>> {
    prop::sample::subsequence(vec!["text", "image/*", "application/pdf", "audio/wav"], 0..=4)
        .prop_map(|list| media(&list))
}

/// A model of the bundled matrix, or one that takes anything anywhere.
pub(crate) fn any_model() -> impl Strategy<Value = ModelCapabilities> {
    let bundled = prop::sample::select(vec![
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock-converse",
        "compatible",
        "offline",
        "nobody",
    ])
    .prop_map(model);
    let limit = || proptest::option::of(10_u64..30);
    let invented =
        (place(), place(), place(), limit(), limit()).prop_map(|(result, failed, beside, bytes, image)| {
            let mut capabilities = model("anthropic");
            capabilities.tool_result.media = result;
            capabilities.failed_result.media = failed;
            capabilities.beside_result.media = beside;
            for place in [&mut capabilities.tool_result, &mut capabilities.beside_result] {
                (place.max_bytes, place.max_image_bytes) = (bytes, image);
            }
            // Authors' documents are text in these tests; it must be taken wherever they stand.
            capabilities.beside_result.media.retain(|media| media != "text");
            capabilities.beside_result.media.push("text".to_owned());
            capabilities
        });
    prop_oneof![bundled, invented]
}

/// Limits that a few documents pass.
pub(crate) fn tight_model() -> impl Strategy<Value = ModelCapabilities> {
    (any_model(), proptest::option::of(1_u64..4), proptest::option::of(200_u64..900)).prop_map(
        |(mut capabilities, count, bytes)| {
            for place in [
                &mut capabilities.user,
                &mut capabilities.tool_result,
                &mut capabilities.failed_result,
                &mut capabilities.beside_result,
            ] {
                place.max_count = count;
            }
            capabilities.files.max_request_bytes = bytes;
            capabilities.files.max_pages = count.map(|count| 2 * count);
            capabilities.files.many_images = count;
            capabilities.files.many_images_pixels = Some(1);
            capabilities
        },
    )
}

pub(crate) fn any_options() -> impl Strategy<Value = RouteOptions> {
    let repeats = prop::sample::select(vec![
        BackReferences::AcrossMessages,
        BackReferences::Everywhere,
        BackReferences::Never,
    ]);
    let profile = prop::sample::select(vec![LabelProfile::Spec, LabelProfile::Refs]);
    let budget = prop_oneof![
        2 => Just(DocumentBudget::Window),
        1 => Just(DocumentBudget::Unlimited),
        2 => (0_u64..5_000).prop_map(DocumentBudget::Tokens),
    ];
    let external = prop::sample::select(vec![ExternalDocuments::Fetch, ExternalDocuments::PassUrl]);
    (repeats, profile, any::<bool>(), any::<bool>(), 1_usize..40, budget, external).prop_map(
        |(repeats, profile, native, urls, bytes, budget, external)| {
            RouteOptions::new()
                .with_external(external)
                .with_back_references(repeats)
                .with_profile(profile)
                .with_label_native(native)
                .with_show_urls(urls)
                .with_max_text_bytes(bytes)
                .with_budget(budget)
        },
    )
}

/// Has everything loaded, fitted and converted that routing asks for, by converters that succeed and fail by chance.
pub(crate) fn settled(
    case: &Case,
    capabilities: &ModelCapabilities,
    options: &RouteOptions,
    luck: &[u8],
) -> Materials {
    let mut materials = case.materials.clone();
    let mut luck = luck.iter().copied().cycle();
    for _ in 0..20 {
        let next = plan(&case.chat.messages, capabilities, options, &materials);
        if next.is_empty() {
            break;
        }
        for document in next.load {
            materials.insert(&document, Material::Bytes(PDF.into()));
        }
        for (document, form) in next.transcode {
            let media = if form.media[0] == "application/pdf" {
                ("application/pdf", PDF)
            } else {
                ("image/png", PNG)
            };
            let made = || Transcoded::changed(media.1, MediaType::parse(media.0).unwrap(), "made smaller");
            match luck.next().unwrap_or_default() % 5 {
                0 => materials.insert(
                    &document,
                    Material::Transcoded(form.clone(), Transcoded::unchanged().with_pages(3)),
                ),
                1 => materials.insert(&document, Material::Transcoded(form.clone(), made())),
                2 => materials.insert(
                    &document,
                    Material::Transcoded(form.clone(), made().with_pages(2).with_pages_held(1)),
                ),
                3 => materials
                    .insert(&document, Material::Untranscodable(form.clone(), "it is encrypted".into())),
                _ => materials.insert(&document, Material::Unchecked(form.clone())),
            }
        }
        for document in next.convert {
            match luck.next().unwrap_or_default() % 2 {
                0 => materials.insert(&document, Material::Unconvertible("broken".into())),
                _ => materials.insert(&document, ConvertedText::new("text made now")),
            }
        }
        for (document, request) in next.render {
            // Where a form takes no PNG, the answer is none.
            let page = PageImage::new(1, PNG, MediaType::parse("image/png").unwrap());
            match luck.next().unwrap_or_default() % 3 {
                0 => materials.insert(
                    &document,
                    Material::Rendered(request.clone(), RenderedPages::new(vec![page], 1)),
                ),
                1 => materials.insert(
                    &document,
                    Material::Unrenderable(request.clone(), "it asks for too much".into()),
                ),
                _ => materials.insert(&document, Material::Unrendered(request.clone())),
            }
        }
    }
    materials
}

/// The decisions of luck.
pub(crate) fn luck() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..12)
}
