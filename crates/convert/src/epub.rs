//! EPUB to text: the chapters in reading order, with their titles from the table of contents.

use std::collections::HashMap;

use crate::archive::Archive;
use crate::flow::Flow;
use crate::guarded::Clock;
use crate::output::{Output, one_line};
use crate::xml::{Node, Stop, Tag, Xml, whole};
use crate::{ConvertError, Converted, Limits, Note, Unit, charset, html};

/// Files of one book that are listed.
const MAX_FILES: usize = 20_000;

/// Longest title.
const MAX_TITLE: usize = 2_000;

pub(crate) fn convert(bytes: &[u8], limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let archive = Archive::open(bytes, limits)?;
    let book = Book { archive: &archive, clock };
    let contents = match book.package() {
        Ok(package) => {
            book.xml_of(&package).map(|xml| whole(Contents::read(xml, &package))).transpose()?.flatten()
        }
        Err(ConvertError::Malformed { .. }) if archive.recovered => None,
        Err(error) => return Err(error),
    };
    let mut contents = contents.unwrap_or_default();
    let guessed = archive.recovered && contents.spine.is_empty();
    if guessed {
        contents.find(&archive);
    }
    if contents.spine.is_empty() {
        return Err(ConvertError::Malformed { reason: "its list of chapters is missing or damaged" });
    }
    let titles = book.titles(&contents)?;
    let locked = book.locked()?;
    let mut output = Output::new(Unit::Chapter, limits);
    output.set_total(contents.spine.len());
    archive.tell(&mut output);
    if guessed {
        output.note(Note::OrderGuessed { unit: Unit::Chapter });
    }
    for (name, value) in [("title", &contents.title), ("author", &contents.author)] {
        if !value.is_empty() {
            output.line(&format!("{name}: {value}"));
        }
    }
    let mut unlocked = 0;
    for id in &contents.spine {
        clock.check()?;
        let file = contents.files.get(id);
        let name = file.map_or("", |file| file.name.as_str());
        if locked.iter().any(|locked| locked == name) {
            output.begin("");
            output.unread();
            continue;
        }
        unlocked += 1;
        let title = titles.get(name).map_or("", String::as_str);
        if !file.is_some_and(|file| file.media.contains("html") || file.media.contains("xml")) {
            if !output.begin(title) {
                break;
            }
            output.not_shown("image");
            continue;
        }
        let Some((bytes, whole)) = book.bytes(name, limits)? else {
            if !output.begin(title) {
                break;
            }
            output.unread();
            continue;
        };
        let mut chapter = output.beside();
        let text = match charset::decode(&bytes, html::said(None, &bytes).as_deref()) {
            Some(decoded) => {
                decoded.notes().for_each(|note| chapter.note(note));
                decoded.text
            }
            None => {
                let text = String::from_utf8_lossy(&bytes);
                chapter.unreadable(&text);
                text
            }
        };
        let mut flow = Flow::new(&mut chapter);
        html::render(&text, html::Form::Chapter, &mut flow, clock)?;
        flow.finish();
        let heading = chapter.so_far().lines().find_map(|line| line.strip_prefix('#')).unwrap_or_default();
        let title = if title.is_empty() { heading.trim_start_matches('#').trim() } else { title };
        if !output.begin(title) {
            break;
        }
        output.absorb(&chapter);
        if !whole {
            output.partial();
        }
    }
    if unlocked == 0 {
        return Err(ConvertError::Encrypted { reason: "its chapters are locked" });
    }
    output.finish()
}

struct Book<'a, 'b> {
    archive: &'a Archive<'b>,
    clock: Clock,
}

/// The parts that the package of a book lists.
#[derive(Default)]
struct Contents {
    title: String,
    author: String,
    files: HashMap<String, File>,
    spine: Vec<String>,
    toc: Option<String>,
}

struct File {
    name: String,
    media: String,
    navigation: bool,
}

impl Contents {
    /// Finds the chapters of a book that lost the list of them, in the order in which they are there.
    fn find(&mut self, archive: &Archive<'_>) {
        for entry in archive.entries().iter().take(MAX_FILES) {
            if [".xhtml", ".html", ".htm"].iter().any(|end| entry.name.to_lowercase().ends_with(end)) {
                let (name, media) = (entry.name.clone(), "application/xhtml+xml".to_owned());
                self.files.insert(name.clone(), File { name: name.clone(), media, navigation: false });
                self.spine.push(name);
            }
        }
    }

    fn read(mut xml: Xml<'_>, package: &str) -> Result<Self, Stop> {
        let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut contents = Self::default();
        loop {
            let mut text = None;
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "title" if contents.title.is_empty() => text = Some(true),
                    "creator" if contents.author.is_empty() => text = Some(false),
                    "item" if contents.files.len() < MAX_FILES => {
                        if let (Some(id), Some(href)) = (tag.attr("id"), tag.attr("href")) {
                            let file = File {
                                name: resolve(folder, &href),
                                media: tag.attr("media-type").unwrap_or_default().to_ascii_lowercase(),
                                navigation: tag.attr("properties").is_some_and(|all| {
                                    all.split_whitespace().any(|property| property == "nav")
                                }),
                            };
                            contents.files.insert(id, file);
                        }
                    }
                    "spine" => contents.toc = tag.attr("toc"),
                    "itemref" if contents.spine.len() < MAX_FILES => contents.spine.extend(tag.attr("idref")),
                    _ => {}
                },
                Node::End => return Ok(contents),
                _ => {}
            }
            if let Some(is_title) = text {
                let text = one_line(&xml.text(MAX_TITLE)?);
                if is_title { contents.title = text } else { contents.author = text }
            }
        }
    }
}

impl Book<'_, '_> {
    fn xml_of(&self, name: &str) -> Option<Xml<'_>> {
        Some(Xml::new(self.archive.part(name)?.ok()?, self.clock))
    }

    /// The name of the package, as the container says.
    fn package(&self) -> Result<String, ConvertError> {
        let path = |tag: &Tag<'_>| tag.attr("full-path").filter(|_| tag.name() == "rootfile");
        let found = self.xml_of("META-INF/container.xml").map(|mut xml| xml.find(path)).transpose()?;
        found.flatten().ok_or(ConvertError::Malformed { reason: "it has no book inside" })
    }

    /// The titles of the files, as the table of contents gives them.
    fn titles(&self, contents: &Contents) -> Result<HashMap<String, String>, ConvertError> {
        let navigation = contents.files.values().find(|file| file.navigation);
        let toc = contents.toc.as_ref().and_then(|id| contents.files.get(id));
        let ncx = contents.files.values().find(|file| file.media == "application/x-dtbncx+xml");
        let mut titles = HashMap::new();
        for file in navigation.into_iter().chain(toc).chain(ncx) {
            let Some(xml) = self.xml_of(&file.name) else { continue };
            whole(entries(xml, &file.name, &mut titles))?;
        }
        Ok(titles)
    }

    /// The files that only a licence opens. Fonts may be scrambled without one.
    fn locked(&self) -> Result<Vec<String>, ConvertError> {
        let mut locked = Vec::new();
        let Some(mut xml) = self.xml_of("META-INF/encryption.xml") else { return Ok(locked) };
        let mut scrambled = false;
        xml.find(|tag| {
            match tag.name() {
                "EncryptedData" => scrambled = false,
                "EncryptionMethod" => {
                    let method = tag.attr("Algorithm").unwrap_or_default();
                    scrambled = method.contains("idpf.org") || method.contains("ns.adobe.com/pdf/enc");
                }
                "CipherReference" if !scrambled => {
                    locked.extend(tag.attr("URI").map(|name| resolve("", &name)));
                }
                _ => {}
            }
            (locked.len() >= MAX_FILES).then_some(())
        })?;
        Ok(locked)
    }

    /// The bytes of a chapter, and whether these are all; `None` if it cannot be read.
    fn bytes(&self, name: &str, limits: &Limits) -> Result<Option<(Vec<u8>, bool)>, ConvertError> {
        let Some(Ok(mut part)) = self.archive.part(name) else { return Ok(None) };
        let mut bytes = Vec::new();
        let whole = crate::archive::read_some(&mut part, limits.max_decoded_bytes, &mut bytes, self.clock)?;
        Ok((!bytes.is_empty()).then_some((bytes, whole)))
    }
}

/// Titles by file, from a navigation document or an NCX.
fn entries(mut xml: Xml<'_>, name: &str, titles: &mut HashMap<String, String>) -> Result<(), Stop> {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let mut label = String::new();
    loop {
        let mut link = None;
        let mut is_label = false;
        match xml.next()? {
            Node::Open(tag) => match tag.name() {
                "a" => link = tag.attr("href"),
                "navLabel" => is_label = true,
                "content" => {
                    if let Some(target) = tag.attr("src").filter(|_| titles.len() < MAX_FILES) {
                        let title = std::mem::take(&mut label);
                        titles.entry(resolve(&folder, &target)).or_insert(title);
                    }
                }
                _ => {}
            },
            Node::End => return Ok(()),
            _ => {}
        }
        if is_label {
            label = one_line(&xml.text(MAX_TITLE)?);
        }
        if let Some(target) = link {
            let title = one_line(&xml.text(MAX_TITLE)?);
            if titles.len() < MAX_FILES && !title.is_empty() {
                titles.entry(resolve(&folder, &target)).or_insert(title);
            }
        }
    }
}

/// The name of a file as a reference in a folder gives it: without its fragment, escapes undone.
fn resolve(folder: &str, reference: &str) -> String {
    let path = reference.split(['#', '?']).next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = || {
            let digits = after.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        match (*first == b'%').then(escaped).flatten() {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    crate::archive::join(folder, &String::from_utf8_lossy(&bytes))
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn references_name_files() {
        assert_eq!(resolve("OEBPS", "Text/ch%201.xhtml#x"), "OEBPS/Text/ch 1.xhtml");
        assert_eq!(resolve("OEBPS/Text", "../a%zz.xhtml"), "OEBPS/a%zz.xhtml");
    }
}
