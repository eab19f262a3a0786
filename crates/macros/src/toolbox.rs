//! `#[toolbox]` on an impl block.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, ImplItem, ItemImpl, Meta, Path, Result};

use crate::analyse::{ToolFn, add};
use crate::options::{self, ToolOptions};
use crate::{expand, plain};

/// Expands `#[toolbox]`.
pub(crate) fn expand(krate: Path, arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let krate = syn::parse::Parser::parse2(options::toolbox, arguments)?.unwrap_or(krate);
    let mut block: ItemImpl = syn::parse2(item)?;
    if let Some((of_trait, _)) = &block.trait_ {
        return Err(Error::new_spanned(
            of_trait,
            "a toolbox is an impl block of the type itself, not of a trait",
        ));
    }
    if let Some(parameter) = block.generics.params.first() {
        let text = "a toolbox cannot be generic: its schemas are those of concrete types";
        return Err(Error::new_spanned(parameter, text));
    }
    let (mut tools, mut problems) = (Vec::new(), None);
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let Some(at) = method.attrs.iter().position(plain::is_tool) else {
            if let Some(taken) = ["tools", "into_tools"].iter().find(|name| method.sig.ident == **name) {
                let text =
                    format!("`#[toolbox]` makes a method of the name `{taken}`: name this one otherwise");
                add(&mut problems, Error::new(method.sig.ident.span(), text));
            }
            continue;
        };
        let attribute = method.attrs.remove(at);
        method.attrs.push(expand::owns_arguments());
        match read(&attribute).and_then(|options| ToolFn::new(options, &method.attrs, &mut method.sig)) {
            Ok(tool) => tools.push(tool),
            Err(error) => add(&mut problems, error),
        }
    }
    for (at, tool) in tools.iter().enumerate() {
        if tools
            .iter()
            .take(at)
            .any(|other| other.name == tool.name && tool.cfgs.is_empty() && other.cfgs.is_empty())
        {
            let span = tool.options.name.as_ref().map_or_else(|| tool.ident.span(), syn::LitStr::span);
            add(&mut problems, Error::new(span, format!("two tools are named `{}`", tool.name)));
        }
    }
    if tools.is_empty() && problems.is_none() {
        let text = "a toolbox has at least one method with `#[tool]`";
        add(&mut problems, Error::new(block.self_ty.span(), text));
    }
    if let Some(problems) = problems {
        return Err(problems);
    }
    Ok(generated(&krate, &block, &tools))
}

fn generated(krate: &Path, block: &ItemImpl, tools: &[ToolFn]) -> TokenStream {
    let this = &block.self_ty;
    let names: Vec<_> = tools.iter().map(|tool| format!("[`{0}`](Self::{0})", tool.ident)).collect();
    let names = names.join(", ");
    let shared =
        expand::doc(&format!("The tools of this value, which they share: {names}."), Span::mixed_site());
    let owned = expand::doc(&format!("Turns this value into its tools: {names}."), Span::mixed_site());
    let pushed = tools.iter().map(|tool| {
        let (ident, cfgs) = (&tool.ident, &tool.cfgs);
        let value = tool.value(krate, &quote!(Self::#ident));
        quote! { #(#cfgs)* tools.push(::std::sync::Arc::new(#value)); }
    });
    let warnings = tools.iter().filter_map(ToolFn::warning);
    let cfgs: Vec<_> = block.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect();
    // A type that cannot be shared is the error to show, not what follows from it.
    let shareable = quote_spanned! { this.span() =>
        const fn is_shareable<T: ::core::marker::Send + ::core::marker::Sync + 'static>() {}
        is_shareable::<#this>();
    };
    quote! {
        #block

        #(#cfgs)*
        const _: () = {
            #shareable

            #[allow(dead_code, deprecated)]
            impl #this {
                #owned
                pub fn into_tools(self) -> ::std::vec::Vec<::std::sync::Arc<dyn #krate::Tool>> {
                    Self::tools(&::std::sync::Arc::new(self))
                }

                #shared
                pub fn tools(
                    self: &::std::sync::Arc<Self>,
                ) -> ::std::vec::Vec<::std::sync::Arc<dyn #krate::Tool>> {
                    let mut tools: ::std::vec::Vec<::std::sync::Arc<dyn #krate::Tool>> = ::std::vec::Vec::new();
                    #(#pushed)*
                    tools
                }
            }
        };
        #(#cfgs)*
        #krate::__register_toolbox!(#this);
        #(#warnings)*
    }
}

fn read(attribute: &Attribute) -> Result<ToolOptions> {
    let mut options = ToolOptions::default();
    if !matches!(attribute.meta, Meta::Path(_)) {
        attribute.parse_nested_meta(|meta| options.read(&meta))?;
    }
    if let Some(krate) = &options.krate {
        return Err(Error::new_spanned(
            krate,
            "inside a toolbox the crate is said once: `#[toolbox(crate = \"…\")]`",
        ));
    }
    Ok(options)
}
