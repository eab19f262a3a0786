//! `#[tool]` turns a function into a tool, `#[toolbox]` turns methods into tools.
//!
//! Both are re-exported by the `attache` crate; use this crate directly only if you depend on `attache-core` alone.
//!
//! ```
//! use attache_core::{Arguments, Document, Tool, ToolContext};
//! use attache_macros::tool;
//!
//! #[derive(serde::Serialize)]
//! struct Invoice { total: String, pdf: Document }
//!
//! /// Finds an invoice by its number.
//! #[tool(effect = "read", timeout = "10s")]
//! async fn find_invoice(
//!     /// As printed on the invoice.
//!     number: String,
//!     #[arg(description = "the year of issue")] year: Option<u16>,
//! ) -> Result<Invoice, std::io::Error> {
//!     let pdf = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name(format!("{number}.pdf"));
//!     Ok(Invoice { total: format!("EUR {}", year.unwrap_or(2026)), pdf })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), attache_core::ToolError> {
//! let tool = find_invoice_tool(); // what an agent is given: Agent::builder().tool(find_invoice_tool())
//! assert_eq!(tool.spec().definition.description(), "Finds an invoice by its number.");
//! let output = tool.call(&Arguments::new(r#"{"number": "R-17"}"#), ToolContext::new()).await?;
//! assert_eq!(output.documents[0].file_name(), Some("R-17.pdf"));
//! # Ok(()) }
//! ```

mod analyse;
mod expand;
mod function;
mod options;
mod plain;
mod text;
mod toolbox;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;
use quote::quote;
use syn::{Path, parse_quote};

/// Turns a function into a tool.
///
/// The function itself is not changed. The attribute adds `fn NAME_tool() -> impl Tool` with the same visibility; pass
/// its value to an agent. (To turn a method into a tool, use [`macro@toolbox`] on its impl block.)
///
/// # The function
/// It is sync or async. Each parameter is one property of the input schema; its type must be owned and implement
/// `serde::Deserialize` and `schemars::JsonSchema`, where doc comments describe the fields. (If you do not depend on
/// schemars, derive it with `#[schemars(crate = "attache_core::schemars")]`.) A parameter that serde can create from
/// nothing, such as an `Option`, is optional. A `ToolContext` or `&ToolContext` parameter receives the call's context
/// and is not in the schema. The function returns anything that serde can serialise, with documents anywhere in it, or
/// a `Result` of that (also through a type alias) with an error that converts into `ToolError`.
///
/// An application can override the settings of the attribute: `find_tool().with_metadata(…)`, `with_spec`,
/// `with_outcome`. With the feature `discovery` of `attache-core`, it can find the tool automatically with `Discovery`.
///
/// # Options
/// | `#[tool(…)]` | meaning |
/// | --- | --- |
/// | `name = "calculator.add"` | the internal name; the function's by default |
/// | `description = "…"` | the description for the model; the doc comment by default; `""` for none |
/// | `effect = "read"` | `read`, `idempotent` or `effect`, the default |
/// | `timeout = "30s"` | in `ms`, `s`, `m` or `h`; the agent's default if not set |
/// | `approval` | each call requires approval |
/// | `return_direct` | its output is the final answer |
/// | `blocking` | it blocks its thread |
/// | `sequential` | no other call runs in parallel with it |
/// | `poll` | it is meant for polling: equal results do not count as a lack of progress |
/// | `finish` | a successful call ends the run; it stays available at a limit, when other tools are disabled |
/// | `max_calls = 3` | the maximum number of calls in one run; the run's limit if not set |
/// | `enabled = false` | it is not offered to the model |
/// | `strict` | APIs enforce the schema if they can, and arguments are not corrected: `"5"` is not accepted for 5, nor one value for an array of one |
/// | `produces = "application/pdf, image/*"` | the media types of the documents that it returns, checked against the model before a run |
/// | `always_visible` | the model sees the full definition from the start, regardless of the number of tools |
/// | `tags = "money, tax"` | search words for finding it among many tools |
/// | `returns = "…"`, `returns_example = …` | a description of the return value, for a model that asks for details |
/// | `crate = "…"` | the path of `attache_core`, if it has another name |
///
/// | `#[arg(…)]` on a parameter | meaning |
/// | --- | --- |
/// | `description = "…"` | the description for the model; same as a doc comment on the parameter |
/// | `rename = "…"` | its name in the schema |
/// | `example = …` | an example in the schema; if every required argument has one, the tool gets an example too |
/// | `default`, `default = …` | the value if it is missing: the type's default, or an expression |
/// | `required` | it is required, although its type is optional |
/// | `flat` | the fields of its struct become separate arguments; a tool whose type has no named fields, or a field with the name of another argument, is rejected when tools are collected |
///
/// # Invalid arguments
/// The function is not called. The model reads the name of the tool, each invalid path with the expected value, and the
/// existing arguments. Unknown arguments are ignored.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(function::expand, parse_quote!(::attache_core), options, item)
}

/// Turns the methods of an impl block that are marked `#[tool]` into tools.
///
/// The block itself is not changed. The type gets two methods: `into_tools(self)` and, if you keep a handle,
/// `tools(self: &Arc<Self>)`; both return `Vec<Arc<dyn Tool>>`. The tools share one value in an `Arc`, so the type must
/// be `Send + Sync + 'static`; a method takes `&self`, `self: Arc<Self>`, `self: &Arc<Self>` or no receiver, and may
/// have any visibility. `#[tool(…)]` supports the options of [`macro@tool`], except `crate`, which is an option of the
/// toolbox.
///
/// ```
/// use attache_macros::toolbox;
///
/// struct Files { names: Vec<String> }
///
/// #[toolbox]
/// impl Files {
///     /// Lists the files.
///     #[tool(name = "files.list", effect = "read")]
///     async fn list(&self, #[arg(default = 100)] limit: usize) -> Vec<String> {
///         self.names.iter().take(limit).cloned().collect()
///     }
/// }
///
/// let tools = Files { names: vec!["a.pdf".into()] }.into_tools();
/// assert_eq!(tools[0].spec().definition.name(), "files.list");
/// ```
#[proc_macro_attribute]
pub fn toolbox(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(toolbox::expand, parse_quote!(::attache_core), options, item)
}

/// [`macro@tool`] for the `attache` crate, which re-exports it under that name: the generated code finds the core at
/// `::attache::core`.
#[proc_macro_attribute]
pub fn facade_tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(function::expand, parse_quote!(::attache::core), options, item)
}

/// [`macro@toolbox`] for the `attache` crate, which re-exports it under that name.
#[proc_macro_attribute]
pub fn facade_toolbox(options: TokenStream, item: TokenStream) -> TokenStream {
    expanded(toolbox::expand, parse_quote!(::attache::core), options, item)
}

type Expand = fn(Path, TokenStream2, TokenStream2) -> syn::Result<TokenStream2>;

/// The item as `expand` makes it. If that fails: the error and the item without the attributes that only we
/// understand, so that no errors follow from the first.
fn expanded(expand: Expand, krate: Path, options: TokenStream, item: TokenStream) -> TokenStream {
    let item = TokenStream2::from(item);
    let tokens = expand(krate, options.into(), item.clone()).unwrap_or_else(|error| {
        let (error, item) = (error.into_compile_error(), plain::item(item));
        quote!(#error #item)
    });
    tokens.into()
}
