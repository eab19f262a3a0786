//! Variables inside of texts: `${NAME}`, `${NAME:-default}`, `${file:PATH}`.

use std::io::Read;
use std::path::{Path, PathBuf};

/// The maximum number of bytes of a file whose content stands for a text.
const LARGEST_SECRET: u64 = 64 << 10;

/// The source of variables.
pub(crate) type Lookup<'v> = &'v dyn Fn(&str) -> Option<String>;

/// A text in which variables were filled in.
pub(crate) struct Filled {
    pub(crate) text: String,
    /// The values that were filled in, each with the text that stands for it in the file.
    pub(crate) values: Vec<(String, String)>,
}

/// A mistake in a text with variables.
pub(crate) struct Unfilled {
    pub(crate) message: String,
    /// The text that would be right.
    pub(crate) hint: String,
    /// True if the text is right, and its variable or file is not there.
    pub(crate) is_missing: bool,
}

/// The text with its variables filled in; `None` if it holds none. `$${` stands for `${`.
///
/// # Errors
/// The mistake.
pub(crate) fn filled(text: &str, folder: &Path, lookup: Lookup<'_>) -> Result<Option<Filled>, Unfilled> {
    if !text.contains("${") {
        return Ok(None);
    }
    let mut filled = Filled { text: String::with_capacity(text.len()), values: Vec::new() };
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(literal) = before.strip_suffix('$') {
            filled.text.push_str(literal);
            filled.text.push_str("${");
            rest = after;
            continue;
        }
        filled.text.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            return Err(Unfilled {
                message: "has a ${ without a closing }".to_owned(),
                hint: "write `$${` for a literal ${".to_owned(),
                is_missing: false,
            });
        };
        let value = value_of(inside, folder, lookup)?;
        filled.text.push_str(&value);
        filled.values.push((value, format!("${{{inside}}}")));
        rest = behind;
    }
    filled.text.push_str(rest);
    Ok(Some(filled))
}

fn value_of(inside: &str, folder: &Path, lookup: Lookup<'_>) -> Result<String, Unfilled> {
    if let Some(path) = inside.strip_prefix("file:") {
        return read(&place(path, folder, lookup)).map_err(|problem| Unfilled {
            message: format!("refers to the file {path}, but {problem}"),
            hint: "check the path".to_owned(),
            is_missing: true,
        });
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    // Other clients write it so.
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !is_name {
        return Err(Unfilled {
            message: format!("contains ${{{inside}}}, which is not a valid variable"),
            hint: "write a variable as ${NAME} or ${NAME:-default}, a file as ${file:PATH}".to_owned(),
            is_missing: false,
        });
    }
    // An empty variable is none.
    match (lookup(name).filter(|value| !value.is_empty()), default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(Unfilled {
            message: format!("needs the variable {name}, which is not set"),
            hint: format!("set it, or write ${{{name}:-default}}"),
            is_missing: true,
        }),
    }
}

/// A path as it is written in a file of that folder: `~/` is the home.
pub(crate) fn place(written: &str, folder: &Path, lookup: Lookup<'_>) -> PathBuf {
    match (written.strip_prefix("~/"), lookup("HOME").or_else(|| lookup("USERPROFILE"))) {
        (Some(below), Some(home)) => Path::new(&home).join(below),
        _ => folder.join(written),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(LARGEST_SECRET + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|size| size > LARGEST_SECRET) {
        return Err(format!("it has more than {LARGEST_SECRET} bytes"));
    }
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<Option<String>, String> {
        let lookup = |name: &str| match name {
            "SET" => Some("a b".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let filled = filled(text, Path::new("/nowhere"), &lookup).map_err(|unfilled| unfilled.message)?;
        Ok(filled.map(|filled| filled.text))
    }

    #[test]
    fn variables_are_filled_in_with_defaults_and_escapes() {
        assert_eq!(fill("plain $SET $$"), Ok(None));
        assert_eq!(fill("x${SET}y${UNSET:-}z${env:SET}").unwrap().unwrap(), "xa byza b");
        assert_eq!(fill("${EMPTY:-d:-e}").unwrap().unwrap(), "d:-e");
        assert_eq!(fill("$${SET} ${SET}").unwrap().unwrap(), "${SET} a b");
        for wrong in ["${UNSET}", "${EMPTY}", "${", "${SET", "${a b}", "${}", "${input:key}", "${file:none}"]
        {
            assert!(fill(wrong).is_err(), "{wrong}");
        }
    }
}
