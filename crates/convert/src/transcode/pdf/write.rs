//! Writing a PDF of pages of another: each page with all it refers to, and nothing else.

use std::collections::{HashMap, HashSet};

use hayro_syntax::object::{
    Array, Dict, MaybeRef, Name, Object, ObjectIdentifier, Stream, String as PdfString,
};
use hayro_syntax::page::{Page, Rotation};
use hayro_syntax::{Filter, Pdf};

use crate::ConvertError;
use crate::guarded::Clock;

const CATALOG: u32 = 1;
const PAGE_TREE: u32 = 2;

/// The bytes that an entry of the cross-reference table takes, and the maximum number of bytes around it.
const ENTRY_BYTES: usize = 20;
const FRAME_BYTES: usize = 512;

/// The maximum number of bytes that a reference takes, with the space behind it.
const REFERENCE_BYTES: usize = 16;

/// The greatest depth of objects inside each other.
const MAX_DEPTH: usize = 100;

/// The maximum number of nodes of a page tree that a page may stand under.
const MAX_ANCESTORS: usize = 64;

/// Lead to other pages or to what is not copied, and change nothing that can be seen.
const NOT_COPIED: [&[u8]; 5] = [b"Parent", b"StructParent", b"StructParents", b"Metadata", b"PieceInfo"];

/// The same, of a page. Its boxes, its rotation and its resources are written apart, as they may be inherited.
const NOT_OF_A_PAGE: [&[u8]; 13] = [
    b"Type",
    b"MediaBox",
    b"CropBox",
    b"Rotate",
    b"Resources",
    b"Annots",
    b"B",
    b"Thumb",
    b"AA",
    b"Trans",
    b"Dur",
    b"PresSteps",
    b"LastModified",
];

/// The same, of an annotation.
const NOT_OF_AN_ANNOTATION: [&[u8]; 8] = [b"P", b"Popup", b"IRT", b"A", b"AA", b"PA", b"Dest", b"Kids"];

/// The properties that a field has from the fields above it.
const INHERITED_BY_FIELDS: [&[u8]; 9] = [b"FT", b"V", b"DV", b"Ff", b"DA", b"Q", b"MaxLen", b"Opt", b"TU"];

/// Objects of these types are not followed: they lead to all of the document.
const NOT_FOLLOWED: [&[u8]; 7] =
    [b"Page", b"Pages", b"Catalog", b"StructTreeRoot", b"StructElem", b"ObjStm", b"XRef"];

/// A file under construction.
pub(super) struct Writer<'a> {
    pdf: &'a Pdf,
    clock: Clock,
    out: Vec<u8>,
    /// Where the objects begin, from the first; 0 for those that are not written yet.
    offsets: Vec<usize>,
    /// The new numbers of objects.
    numbers: HashMap<ObjectIdentifier, u32>,
    /// Objects that were referred to and are not written yet.
    pending: Vec<(ObjectIdentifier, u32)>,
    pages: Vec<u32>,
    /// The entries of the catalog besides its pages.
    catalog: Vec<u8>,
    /// The form of the document, once a page with a field was written.
    form: Option<Form>,
}

/// The form of a document.
struct Form {
    /// Its entries besides its fields.
    shared: Vec<u8>,
    fields: Vec<u32>,
}

impl<'a> Writer<'a> {
    /// A file without pages.
    pub(super) fn new(pdf: &'a Pdf, clock: Clock) -> Result<Self, ConvertError> {
        let mut writer = Self {
            pdf,
            clock,
            // The comment tells programs that the file is not text.
            out: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec(),
            offsets: vec![0; PAGE_TREE as usize],
            numbers: HashMap::new(),
            pending: Vec::new(),
            pages: Vec::new(),
            catalog: Vec::new(),
            form: None,
        };
        let xref = pdf.xref();
        // Which layers are shown.
        let layers = xref.get::<Dict<'_>>(xref.root_id()).and_then(|catalog| catalog.get_raw("OCProperties"));
        if let Some(layers) = layers {
            writer.catalog = writer.apart(|writer| {
                writer.text("/OCProperties ");
                writer.value(&layers, 0);
            });
        }
        writer.write_pending()?;
        Ok(writer)
    }

    /// Adds a page, a blank one for `None`; `false` if the file would become longer than `most_bytes`.
    pub(super) fn page(&mut self, page: Option<&Page<'a>>, most_bytes: usize) -> Result<bool, ConvertError> {
        let (length, objects) = (self.out.len(), self.offsets.len());
        let fields = self.form.as_ref().map(|form| form.fields.len());
        let annotations = match page {
            Some(page) => self.annotations(page, most_bytes)?,
            None => Vec::new(),
        };
        let number = self.new_number();
        self.begin(number);
        self.text("<</Type/Page/Parent 2 0 R");
        match page {
            Some(page) => self.page_entries(page, &annotations),
            None => self.text("/MediaBox[0 0 595 842]/Resources<<>>"),
        }
        self.text(">>\nendobj\n");
        self.write_pending()?;
        if self.length_at_end(1) > most_bytes {
            // Nothing else is added after this, so that what was numbered for it needs no undoing.
            self.out.truncate(length);
            self.offsets.truncate(objects);
            match (&mut self.form, fields) {
                (Some(form), Some(fields)) => form.fields.truncate(fields),
                (form, _) => *form = None,
            }
            return Ok(false);
        }
        self.pages.push(number);
        Ok(true)
    }

    /// The whole file.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.begin(CATALOG);
        self.text("<</Type/Catalog/Pages 2 0 R");
        let catalog = std::mem::take(&mut self.catalog);
        self.out.extend_from_slice(&catalog);
        if let Some(form) = self.form.take() {
            self.text("/AcroForm<</Fields[");
            for field in form.fields {
                self.text(&format!("{field} 0 R "));
            }
            self.text("]");
            self.out.extend_from_slice(&form.shared);
            self.text(">>");
        }
        self.text(">>\nendobj\n");
        self.begin(PAGE_TREE);
        self.text("<</Type/Pages/Kids[");
        let count = self.pages.len();
        for page in std::mem::take(&mut self.pages) {
            self.text(&format!("{page} 0 R "));
        }
        self.text(&format!("]/Count {count}>>\nendobj\n"));
        let start = self.out.len();
        let size = self.offsets.len() + 1;
        self.text(&format!("xref\n0 {size}\n0000000000 65535 f \n"));
        for offset in std::mem::take(&mut self.offsets) {
            self.text(&format!("{offset:010} 00000 n \n"));
        }
        self.text(&format!("trailer\n<</Size {size}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"));
        self.out
    }

    /// The length of the file with so many pages more.
    fn length_at_end(&self, more: usize) -> usize {
        let form =
            self.form.as_ref().map_or(0, |form| form.shared.len() + form.fields.len() * REFERENCE_BYTES);
        let tree = (self.pages.len() + more) * REFERENCE_BYTES + self.catalog.len() + form;
        self.out.len() + self.offsets.len() * ENTRY_BYTES + tree + FRAME_BYTES
    }

    fn page_entries(&mut self, page: &Page<'a>, annotations: &[u8]) {
        let raw = page.raw();
        let (media, crop) = (page.media_box(), page.crop_box());
        for (key, rect) in [("MediaBox", media), ("CropBox", crop)] {
            self.text(&format!("/{key}["));
            for side in [rect.x0, rect.y0, rect.x1, rect.y1] {
                self.number(side);
                self.text(" ");
            }
            self.text("]");
        }
        let turned = match page.rotation() {
            Rotation::None => 0,
            Rotation::Horizontal => 90,
            Rotation::Flipped => 180,
            Rotation::FlippedHorizontal => 270,
        };
        self.text(&format!("/Rotate {turned}/Resources "));
        match inherited(raw, b"Resources") {
            Some(resources) => self.value(&resources, 0),
            None => self.text("<<>>"),
        }
        if !annotations.is_empty() {
            self.text("/Annots[");
            self.out.extend_from_slice(annotations);
            self.text("]");
        }
        self.entries(raw, &NOT_OF_A_PAGE, 0);
    }

    /// The annotations of a page as they stand in its list. Fields of forms become objects, as the form refers to them.
    fn annotations(&mut self, page: &Page<'a>, most_bytes: usize) -> Result<Vec<u8>, ConvertError> {
        let mut list = Vec::new();
        let Some(annotations) = page.raw().get::<Array<'_>>("Annots") else { return Ok(list) };
        for annotation in annotations.iter::<Dict<'_>>() {
            self.clock.check()?;
            // They are copied, and many pages may name the same.
            if self.out.len() + list.len() > most_bytes {
                break;
            }
            if annotation.get::<Name<'_>>("Subtype").is_some_and(|kind| kind.as_ref() == b"Widget") {
                let number = self.new_number();
                self.begin(number);
                self.text("<<");
                self.field(&annotation);
                self.text(">>\nendobj\n");
                self.form().fields.push(number);
                list.extend_from_slice(format!("{number} 0 R ").as_bytes());
            } else {
                list.extend(self.apart(|writer| {
                    writer.text("<<");
                    writer.entries(&annotation, &NOT_OF_AN_ANNOTATION, 1);
                    writer.text(">>");
                }));
            }
        }
        Ok(list)
    }

    /// Writes a field with what it has from the fields above it, as those are not copied.
    fn field(&mut self, field: &Dict<'a>) {
        let name = full_name(field);
        let skipped: Vec<&[u8]> = NOT_OF_AN_ANNOTATION.into_iter().chain([&b"T"[..]]).collect();
        self.entries(field, &skipped, 1);
        if !name.is_empty() {
            self.text("/T");
            self.string(&name);
        }
        for key in INHERITED_BY_FIELDS {
            if !field.contains_key(key)
                && let Some(value) = inherited(field, key)
            {
                self.name(key);
                self.text(" ");
                self.value(&value, 1);
            }
        }
    }

    /// The form, with the fonts and the look that its fields share.
    fn form(&mut self) -> &mut Form {
        let shared = match self.form {
            Some(_) => Vec::new(),
            None => self.apart(|writer| {
                let xref = writer.pdf.xref();
                let catalog = xref.get::<Dict<'_>>(xref.root_id());
                if let Some(form) = catalog.and_then(|catalog| catalog.get::<Dict<'_>>("AcroForm")) {
                    // XFA and signatures are of the whole document.
                    writer.entries(&form, &[b"Fields", b"XFA", b"SigFlags", b"CO"], 1);
                }
            }),
        };
        self.form.get_or_insert_with(|| Form { shared, fields: Vec::new() })
    }

    /// The state of `write`, apart from the file.
    fn apart(&mut self, write: impl FnOnce(&mut Self)) -> Vec<u8> {
        let start = self.out.len();
        write(self);
        self.out.split_off(start)
    }

    /// Writes what was referred to, and what that refers to.
    fn write_pending(&mut self) -> Result<(), ConvertError> {
        while let Some((id, number)) = self.pending.pop() {
            self.clock.check()?;
            self.begin(number);
            match self.pdf.xref().get::<Object<'_>>(id) {
                Some(Object::Stream(stream)) => self.stream(&stream),
                Some(object) => self.object(&object, 0),
                None => self.text("null"),
            }
            self.text("\nendobj\n");
        }
        Ok(())
    }

    fn begin(&mut self, number: u32) {
        if let Some(offset) = self.offsets.get_mut(number as usize - 1) {
            *offset = self.out.len();
        }
        self.text(&format!("{number} 0 obj\n"));
    }

    fn new_number(&mut self) -> u32 {
        self.offsets.push(0);
        u32::try_from(self.offsets.len()).unwrap_or(u32::MAX)
    }

    fn stream(&mut self, stream: &Stream<'a>) {
        let data = stream.raw_data();
        self.text("<<");
        let decrypted = stream.filters().first() == Some(&Filter::Crypt);
        let skipped: &[&[u8]] =
            if decrypted { &[b"Length", b"Filter", b"DecodeParms"] } else { &[b"Length"] };
        self.entries(stream.dict(), skipped, 0);
        if decrypted {
            // The work of the first filter is undone already.
            for key in ["Filter", "DecodeParms"] {
                if let Some(list) = stream.dict().get::<Array<'_>>(key) {
                    self.text(&format!("/{key}["));
                    list.raw_iter().skip(1).for_each(|item| self.item(&item, 1));
                    self.text("]");
                }
            }
        }
        self.text(&format!("/Length {}>>\nstream\n", data.len()));
        self.out.extend_from_slice(&data);
        self.text("\nendstream");
    }

    fn entries(&mut self, dict: &Dict<'a>, skipped: &[&[u8]], depth: usize) {
        for (key, value) in dict.entries() {
            if !skipped.contains(&key.as_ref()) && !NOT_COPIED.contains(&key.as_ref()) {
                self.name(key.as_ref());
                self.text(" ");
                self.value(&value, depth + 1);
            }
        }
    }

    fn item(&mut self, item: &MaybeRef<Object<'a>>, depth: usize) {
        self.value(item, depth);
        self.text(" ");
    }

    fn value(&mut self, value: &MaybeRef<Object<'a>>, depth: usize) {
        let reference = match value {
            MaybeRef::NotRef(object) => return self.object(object, depth),
            MaybeRef::Ref(reference) => *reference,
        };
        let id = ObjectIdentifier::from(reference);
        let number = match self.numbers.get(&id) {
            Some(number) => *number,
            None if !self.is_followed(id) => return self.text("null"),
            None => {
                let number = self.new_number();
                self.numbers.insert(id, number);
                self.pending.push((id, number));
                number
            }
        };
        self.text(&format!("{number} 0 R"));
    }

    fn is_followed(&self, id: ObjectIdentifier) -> bool {
        let kind = match self.pdf.xref().get::<Object<'_>>(id) {
            None => return false,
            Some(Object::Dict(dict)) => dict.get::<Name<'_>>("Type"),
            Some(Object::Stream(stream)) => stream.dict().get::<Name<'_>>("Type"),
            Some(_) => None,
        };
        kind.is_none_or(|kind| !NOT_FOLLOWED.contains(&kind.as_ref()))
    }

    fn object(&mut self, object: &Object<'a>, depth: usize) {
        if depth > MAX_DEPTH {
            return self.text("null");
        }
        match object {
            // A stream can only be referred to.
            Object::Null(_) | Object::Stream(_) => self.text("null"),
            Object::Boolean(is) => self.text(if *is { "true" } else { "false" }),
            Object::Number(number) => self.number(number.as_f64()),
            Object::Name(name) => self.name(name.as_ref()),
            Object::String(string) => self.string(string.as_bytes()),
            Object::Array(array) => {
                self.text("[");
                array.raw_iter().for_each(|item| self.item(&item, depth + 1));
                self.text("]");
            }
            Object::Dict(dict) => {
                self.text("<<");
                self.entries(dict, &[], depth);
                self.text(">>");
            }
        }
    }

    fn number(&mut self, number: f64) {
        // Nobody's pages are larger; other readers have 32 bits.
        let number = if number.is_finite() { number.clamp(-2_147_483_648.0, 2_147_483_647.0) } else { 0.0 };
        self.text(&number.to_string());
    }

    fn name(&mut self, name: &[u8]) {
        self.text("/");
        for byte in name {
            match byte {
                b'#' | b'/' | b'%' | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' => {
                    self.text(&format!("#{byte:02x}"));
                }
                b'!'..=b'~' => self.out.push(*byte),
                _ => self.text(&format!("#{byte:02x}")),
            }
        }
    }

    fn string(&mut self, string: &[u8]) {
        self.text("(");
        for byte in string {
            match byte {
                b'(' | b')' | b'\\' => self.out.extend([b'\\', *byte]),
                // A bare one would be read as a line feed.
                b'\r' => self.text("\\r"),
                _ => self.out.push(*byte),
            }
        }
        self.text(")");
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

/// The name of a field behind those of the fields above it, in one of the two encodings of text strings.
fn full_name(field: &Dict<'_>) -> Vec<u8> {
    const WIDE: &[u8] = &[0xfe, 0xff];
    let mut names = Vec::new();
    let mut node = Some(field.clone());
    for _ in 0..MAX_ANCESTORS {
        let Some(field) = node else { break };
        names.extend(field.get::<PdfString<'_>>("T").map(|name| name.as_bytes().to_vec()));
        node = field.get::<Dict<'_>>("Parent");
    }
    names.reverse();
    if !names.iter().any(|name| name.starts_with(WIDE)) {
        return names.join(&b'.');
    }
    let wide = |name: &Vec<u8>| match name.strip_prefix(WIDE) {
        Some(name) => name.to_vec(),
        None => name.iter().flat_map(|byte| [0, *byte]).collect(),
    };
    [WIDE, &names.iter().map(wide).collect::<Vec<_>>().join(&[0, b'.'][..])].concat()
}

/// The value of a page for a key, or that of the nearest node of the page tree above it; likewise for fields.
fn inherited<'a>(page: &Dict<'a>, key: &[u8]) -> Option<MaybeRef<Object<'a>>> {
    let mut seen = HashSet::new();
    let mut node = page.clone();
    for _ in 0..MAX_ANCESTORS {
        if let Some(value) = node.get_raw::<Object<'_>>(key) {
            return Some(value);
        }
        node = node.get::<Dict<'_>>("Parent")?;
        if !node.obj_id().is_none_or(|id| seen.insert(id)) {
            return None;
        }
    }
    None
}
