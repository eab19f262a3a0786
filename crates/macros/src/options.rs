//! The options of `#[tool(…)]`, `#[toolbox(…)]` and `#[arg(…)]`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Expr, Lit, LitBool, LitInt, LitStr, Path, Result, Token};

use crate::text;

/// The options of `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<String>,
    /// The variant of `Effect`.
    pub(crate) effect: Option<&'static str>,
    pub(crate) timeout_millis: Option<u64>,
    pub(crate) approval: bool,
    pub(crate) return_direct: bool,
    pub(crate) blocking: bool,
    pub(crate) sequential: bool,
    pub(crate) poll: bool,
    pub(crate) finish: bool,
    pub(crate) max_calls: Option<LitInt>,
    pub(crate) disabled: bool,
    pub(crate) strict: bool,
    /// Media types.
    pub(crate) produces: Vec<String>,
    pub(crate) always_visible: bool,
    pub(crate) tags: Vec<String>,
    pub(crate) returns: Option<String>,
    pub(crate) returns_example: Option<Expr>,
    pub(crate) krate: Option<Path>,
}

impl ToolOptions {
    pub(crate) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match key.as_str() {
            "name" => {
                let name: LitStr = meta.value()?.parse()?;
                if name.value().trim().is_empty() {
                    return Err(syn::Error::new(name.span(), "a tool needs a name"));
                }
                self.name = Some(name);
            }
            "description" => self.description = Some(meta.value()?.parse::<LitStr>()?.value()),
            "effect" => {
                let effect: LitStr = meta.value()?.parse()?;
                self.effect = Some(match effect.value().as_str() {
                    "read" => "Read",
                    "idempotent" => "Idempotent",
                    "effect" => "SideEffect",
                    other => {
                        let text = format!("`{other}` is no effect: `read`, `idempotent` or `effect`");
                        return Err(syn::Error::new(effect.span(), text));
                    }
                });
            }
            "timeout" => {
                let timeout: LitStr = meta.value()?.parse()?;
                let millis = text::millis(&timeout.value());
                self.timeout_millis =
                    Some(millis.map_err(|problem| syn::Error::new(timeout.span(), problem))?);
            }
            "approval" => self.approval = flag(meta)?,
            "return_direct" => self.return_direct = flag(meta)?,
            "blocking" => self.blocking = flag(meta)?,
            "sequential" => self.sequential = flag(meta)?,
            "poll" => self.poll = flag(meta)?,
            "finish" => self.finish = flag(meta)?,
            "max_calls" => {
                let calls: LitInt = meta.value()?.parse()?;
                calls.base10_parse::<u32>()?;
                self.max_calls = Some(calls);
            }
            "enabled" => self.disabled = !flag(meta)?,
            "strict" => self.strict = flag(meta)?,
            "produces" => self.produces = media_types(&meta.value()?.parse()?)?,
            "always_visible" => self.always_visible = flag(meta)?,
            "tags" => self.tags = words(&meta.value()?.parse()?),
            "returns" => self.returns = Some(meta.value()?.parse::<LitStr>()?.value()),
            "returns_example" => self.returns_example = Some(meta.value()?.parse()?),
            "crate" => self.krate = Some(path(meta)?),
            _ => {
                return Err(meta.error(
                    "unknown option: a tool knows `name`, `description`, `effect`, `approval`, `timeout`, \
                     `return_direct`, `blocking`, `sequential`, `poll`, `finish`, `max_calls`, `enabled`, `strict`, `produces`, `always_visible`, `tags`, `returns`, \
                     `returns_example` and `crate`",
                ));
            }
        }
        Ok(())
    }
}

/// The options of `#[arg(…)]` for one parameter.
#[derive(Default)]
pub(crate) struct ArgOptions {
    pub(crate) description: Option<String>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) example: Option<Expr>,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) required: Option<Span>,
    pub(crate) flat: Option<Span>,
}

/// The source of the value of an omitted argument.
pub(crate) enum DefaultValue {
    /// `Default::default()`.
    OfType,
    /// An expression.
    Expression(Expr),
}

impl ArgOptions {
    pub(crate) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match key.as_str() {
            "description" => self.description = Some(meta.value()?.parse::<LitStr>()?.value()),
            "rename" => self.rename = Some(meta.value()?.parse()?),
            "example" => self.example = Some(meta.value()?.parse()?),
            "default" => {
                let given = meta.input.peek(Token![=]);
                self.default = Some(if given {
                    DefaultValue::Expression(meta.value()?.parse()?)
                } else {
                    DefaultValue::OfType
                });
            }
            "required" => self.required = flag(meta)?.then(|| meta.path.span()),
            "flat" => self.flat = flag(meta)?.then(|| meta.path.span()),
            _ => {
                return Err(meta.error(
                    "unknown option: an argument knows `description`, `rename`, `example`, `default`, `required` \
                     and `flat`",
                ));
            }
        }
        Ok(())
    }
}

/// Reads the options of `#[toolbox(…)]`.
pub(crate) fn toolbox(input: ParseStream<'_>) -> Result<Option<Path>> {
    let mut krate = None;
    let parser = syn::meta::parser(|meta| {
        if !meta.path.is_ident("crate") {
            return Err(
                meta.error("unknown option: a toolbox knows `crate`; the rest is said by `#[tool(…)]`")
            );
        }
        krate = Some(path(&meta)?);
        Ok(())
    });
    syn::parse::Parser::parse2(parser, input.parse()?)?;
    Ok(krate)
}

/// True if an expression is a literal, so that a schema can show it.
pub(crate) fn is_literal(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(_) => true,
        Expr::Unary(unary) => matches!(&*unary.expr, Expr::Lit(_)),
        _ => false,
    }
}

/// True if an expression is a string literal.
pub(crate) fn is_string(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(literal) if matches!(literal.lit, Lit::Str(_)))
}

/// Words, separated by commas.
fn words(list: &LitStr) -> Vec<String> {
    let words = list.value();
    words.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Media types, separated by commas.
fn media_types(list: &LitStr) -> Result<Vec<String>> {
    let types = list.value();
    let types = types.split(',').map(|media| {
        let media = media.trim().to_ascii_lowercase();
        let is_type = media.split_once('/').is_some_and(|(kind, subtype)| {
            let is_word = |word: &str| {
                !word.is_empty()
                    && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
            };
            is_word(kind) && (subtype == "*" || is_word(subtype))
        });
        if is_type {
            return Ok(media);
        }
        let text = format!("`{media}` is no media type such as `application/pdf` or `image/*`");
        Err(syn::Error::new(list.span(), text))
    });
    types.collect()
}

/// `flag` or `flag = true`.
fn flag(meta: &ParseNestedMeta<'_>) -> Result<bool> {
    if meta.input.peek(Token![=]) { Ok(meta.value()?.parse::<LitBool>()?.value) } else { Ok(true) }
}

fn path(meta: &ParseNestedMeta<'_>) -> Result<Path> {
    meta.value()?.parse::<LitStr>()?.parse()
}
