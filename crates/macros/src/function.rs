//! `#[tool]` on a function.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Path, Result, Signature, Visibility};

use crate::analyse::ToolFn;
use crate::expand;
use crate::options::ToolOptions;

/// A function whose body is left alone.
struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    sig: Signature,
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            sig: input.parse().map_err(|error| {
                Error::new(
                    error.span(),
                    "`#[tool]` stands on a function, or on a method inside `#[toolbox] impl …`",
                )
            })?,
            body: input.parse()?,
        })
    }
}

/// Expands `#[tool]`.
pub(crate) fn expand(krate: Path, options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut read = ToolOptions::default();
    syn::parse::Parser::parse2(syn::meta::parser(|meta| read.read(&meta)), options)?;
    let krate = read.krate.clone().unwrap_or(krate);
    let Function { attributes, visibility, mut sig, body } = syn::parse2(item)?;
    if let Some(receiver) = sig.receiver() {
        let text = "a method becomes a tool inside `#[toolbox] impl …`: put `#[toolbox]` on the block";
        return Err(Error::new_spanned(receiver, text));
    }
    let tool = ToolFn::new(read, &attributes, &mut sig)?;
    let ident = &tool.ident;
    let maker = format_ident!("{}_tool", ident.unraw(), span = ident.span());
    let value = tool.value(&krate, &quote!(#ident));
    let docs = expand::doc(&format!("The tool that calls [`{}`].", ident.unraw()), ident.span());
    let (cfgs, warning, owns) = (&tool.cfgs, tool.warning(), expand::owns_arguments());
    let function = ident.unraw().to_string();
    Ok(quote! {
        #owns
        #(#attributes)*
        #visibility #sig #body

        #docs
        #(#cfgs)*
        #[allow(deprecated)]
        #visibility fn #maker() -> impl #krate::Tool + ::core::fmt::Debug + 'static {
            #value
        }
        #(#cfgs)*
        #krate::__register_tool!(#function, #maker);
        #warning
    })
}
