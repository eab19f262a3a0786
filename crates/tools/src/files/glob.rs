//! Patterns of paths, as `.gitignore` has them.

/// A pattern, and what it says of a path that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The parts between slashes; `**` stands for any number of them.
    parts: Vec<Vec<Item>>,
    /// True if only folders fit.
    folders: bool,
    /// True if what fits is taken in again.
    pub(super) is_negated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    One(char),
    /// `?`
    Any,
    /// `*`
    Many,
    /// `[a-z]`, or everything but that.
    Set {
        ranges: Vec<(char, char)>,
        is_negated: bool,
    },
}

impl Pattern {
    /// Reads a line of a `.gitignore`; `None` if it holds no pattern.
    pub(super) fn line(line: &str) -> Option<Self> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.starts_with('#') {
            return None;
        }
        let trimmed = line.trim_end_matches(' ');
        // A space that is escaped stays.
        let is_kept = trimmed.len() < line.len() && trimmed.ends_with('\\');
        let line = if is_kept { line.get(..=trimmed.len()).unwrap_or(line) } else { trimmed };
        let (is_negated, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        Self::new(line).map(|pattern| Self { is_negated, ..pattern })
    }

    /// Reads a pattern; `None` if it is empty.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let (folders, pattern) = pattern.strip_suffix('/').map_or((false, pattern), |rest| (true, rest));
        if pattern.trim_start_matches('/').is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        // Without a slash inside it fits at every depth.
        if !pattern.contains('/') {
            parts.push(vec![Item::Many, Item::Many]);
        }
        let mut rest = pattern.strip_prefix('/').unwrap_or(pattern);
        loop {
            let end = slash(rest);
            let (part, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            parts.push(items(part));
            match after.strip_prefix('/') {
                Some(after) => rest = after,
                None => break,
            }
        }
        Some(Self { parts, folders, is_negated: false })
    }

    /// Reads a pattern of files: a folder stands for all that is in it.
    pub(super) fn of_files(pattern: &str) -> Option<Self> {
        let trimmed = pattern.trim();
        match trimmed.strip_suffix('/').filter(|folder| !folder.trim_matches('/').is_empty()) {
            // Without a slash inside it is a folder at any depth.
            Some(folder) if !folder.contains('/') => Self::new(&format!("**/{folder}/**")),
            Some(folder) => Self::new(&format!("{folder}/**")),
            None => Self::new(pattern),
        }
    }

    /// True if the path fits. No pattern takes longer than its length times that of the path.
    pub(super) fn fits(&self, path: &str, is_folder: bool) -> bool {
        if self.folders && !is_folder {
            return false;
        }
        let names: Vec<&str> = path.split('/').collect();
        // Says whether the parts so far fit the first names, for each number of names.
        let mut reached = vec![false; names.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        for (number, part) in self.parts.iter().enumerate() {
            let mut next = vec![false; names.len() + 1];
            if is_any_depth(part) {
                // At the end of a pattern it stands for what is inside a folder, not for the folder.
                let is_last = number + 1 == self.parts.len();
                let mut open = false;
                for (slot, reached) in next.iter_mut().zip(&reached) {
                    *slot = open || (*reached && !is_last);
                    open |= *reached;
                }
            } else {
                for ((slot, reached), name) in next.iter_mut().skip(1).zip(&reached).zip(&names) {
                    *slot = *reached && fits(part, name);
                }
            }
            reached = next;
        }
        reached.last().copied().unwrap_or(false)
    }
}

fn is_any_depth(part: &[Item]) -> bool {
    matches!(part, [Item::Many, Item::Many])
}

/// The end of the first part: a slash in brackets or behind a backslash is none.
fn slash(pattern: &str) -> usize {
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '/' => return at,
            _ => {}
        }
    }
    pattern.len()
}

fn items(part: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut rest = part.chars();
    while let Some(c) = rest.next() {
        items.push(match c {
            '?' => Item::Any,
            '*' => Item::Many,
            '\\' => Item::One(rest.next().unwrap_or('\\')),
            '[' => match set(rest.as_str()) {
                Some((item, after)) => {
                    rest = after.chars();
                    item
                }
                None => Item::One('['),
            },
            c => Item::One(c),
        });
    }
    items
}

/// A set behind its bracket, and what follows it; `None` if no bracket closes it.
fn set(text: &str) -> Option<(Item, &str)> {
    let mut rest = text.chars();
    let is_negated = text.starts_with(['!', '^']);
    if is_negated {
        rest.next();
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut is_first = true;
    loop {
        let mut from = rest.next()?;
        // A bracket that stands first is one of the set.
        if from == ']' && !is_first {
            return Some((Item::Set { ranges, is_negated }, rest.as_str()));
        }
        is_first = false;
        if from == '\\' {
            from = rest.next()?;
        }
        let mut ahead = rest.clone();
        let mut to = from;
        if ahead.next() == Some('-')
            && let Some(end) = ahead.next().filter(|end| *end != ']')
        {
            to = if end == '\\' { ahead.next()? } else { end };
            rest = ahead;
        }
        ranges.push((from, to));
    }
}

fn fits(part: &[Item], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut item, mut at) = (0, 0);
    // The last star, and the end of what it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while let Some(c) = name.get(at) {
        let is_one = match part.get(item) {
            Some(Item::Many) => {
                star = Some((item, at));
                item += 1;
                continue;
            }
            Some(Item::Any) => true,
            Some(Item::One(wanted)) => wanted == c,
            Some(Item::Set { ranges, is_negated }) => {
                ranges.iter().any(|(from, to)| (from..=to).contains(&c)) != *is_negated
            }
            None => false,
        };
        if is_one {
            (item, at) = (item + 1, at + 1);
        } else if let Some((before, taken)) = &mut star {
            *taken += 1;
            (item, at) = (*before + 1, *taken);
        } else {
            return false;
        }
    }
    part.iter().skip(item).all(|item| *item == Item::Many)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The examples of gitignore(5), and what git check-ignore says of them.
    #[test]
    fn patterns_fit_as_git_has_it() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("node_modules/", &["node_modules/", "a/node_modules/"], &["node_modules", "my_node_modules/"]),
            ("*.log", &["a.log", "b/c.log", ".log"], &["a.log.txt", "log"]),
            ("/*.c", &["cat-file.c"], &["mozilla/sha1.c"]),
            ("doc/frotz/", &["doc/frotz/"], &["a/doc/frotz/"]),
            ("**/foo", &["foo", "a/foo", "a/b/foo"], &["foo/a", "afoo"]),
            ("**/foo/bar", &["foo/bar", "x/foo/bar"], &["foo/x/bar"]),
            ("abc/**", &["abc/a", "abc/a/b"], &["abc", "abc/", "x/abc/a"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb"]),
            ("foo/*", &["foo/test.json", "foo/bar"], &["foo/bar/hello.c"]),
            ("h?t", &["hat", "x/hit"], &["ht", "h/t", "hoot"]),
            ("[a-c]x[!0-9]", &["axy", "cxx"], &["dxy", "ax1"]),
            ("[]-]", &["]", "-"], &["a"]),
            ("a\\*b", &["a*b"], &["axb"]),
            ("[", &["["], &["a"]),
            ("*a*b*c*", &["xaxbxc", "abc"], &["acb"]),
        ];
        for (pattern, yes, no) in cases {
            let pattern_ = Pattern::line(pattern).unwrap();
            for (paths, fits) in [(yes, true), (no, false)] {
                for path in *paths {
                    let (path, is_folder) =
                        path.strip_suffix('/').map_or((*path, false), |path| (path, true));
                    assert_eq!(pattern_.fits(path, is_folder), fits, "{pattern} {path}");
                }
            }
        }
    }

    #[test]
    fn lines_may_hold_no_pattern() {
        for line in ["", "   ", "# note", "/", "!"] {
            assert_eq!(Pattern::line(line), None, "{line:?}");
        }
        assert!(Pattern::line("!keep.log").unwrap().is_negated);
        assert!(Pattern::line("\\#a").unwrap().fits("#a", false));
        assert!(
            Pattern::line("a\\ ").unwrap().fits("a ", false)
                && Pattern::line("a  \r").unwrap().fits("a", false)
        );
    }

    #[test]
    fn no_pattern_takes_long() {
        let stars = Pattern::new(&"*a".repeat(500)).unwrap();
        assert!(!stars.fits(&"a".repeat(499), false));
        let depths = Pattern::new(&"**/a/".repeat(300)).unwrap();
        assert!(!depths.fits(&"b/".repeat(500), true));
    }
}
