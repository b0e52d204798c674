//! The fields of a struct and their attributes.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Data, DeriveInput, Error, Fields, GenericArgument, Ident, LitInt, LitStr, PathArguments, Type,
};

/// A field, which is a column.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    /// The column's name.
    pub(crate) name: String,
    pub(crate) is_key: bool,
    of: Type,
    /// Digits after the point, of a decimal.
    scale: Option<LitInt>,
}

impl Field {
    /// The call that adds the column to a builder.
    pub(crate) fn column(&self) -> TokenStream {
        let Field { name, of, .. } = self;
        let Some(scale) = &self.scale else {
            return quote!(.column_of::<#of>(#name));
        };
        let kind = quote!(::syncline_engine::Kind::Decimal { scale: #scale });
        if is_option(of) { quote!(.nullable(#name, #kind)) } else { quote!(.column(#name, #kind)) }
    }
}

/// The columns of a struct.
pub(crate) fn fields_of(input: &DeriveInput) -> syn::Result<Vec<Field>> {
    let refuse = |what: &str| Err(Error::new_spanned(&input.ident, what));
    let Data::Struct(of) = &input.data else {
        return refuse("rows are structs with named fields");
    };
    let Fields::Named(fields) = &of.fields else {
        return refuse("rows are structs with named fields");
    };
    if !input.generics.params.is_empty() {
        return refuse("rows are structs without type or lifetime parameters");
    }
    let mut columns: Vec<Field> = Vec::new();
    for field in &fields.named {
        let column = field_of(field)?;
        if columns.iter().any(|other| other.name == column.name) {
            let what = format!("two columns are called {}", column.name);
            return Err(Error::new_spanned(field, what));
        }
        columns.push(column);
    }
    if !columns.iter().any(|column| column.is_key) {
        return refuse("a table has a primary key: mark its fields with #[row(key)]");
    }
    Ok(columns)
}

fn field_of(field: &syn::Field) -> syn::Result<Field> {
    let ident = field.ident.clone().unwrap_or_else(|| Ident::new("_", Span::call_site()));
    let mut column = Field {
        name: ident.to_string().trim_start_matches("r#").to_owned(),
        ident,
        is_key: false,
        of: field.ty.clone(),
        scale: None,
    };
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("row")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("key") {
                column.is_key = true;
            } else if meta.path.is_ident("name") {
                column.name = meta.value()?.parse::<LitStr>()?.value();
            } else if meta.path.is_ident("scale") {
                column.scale = Some(meta.value()?.parse()?);
            } else {
                let what = "a field's attributes are key, name = \"..\" and scale = ..";
                return Err(Error::new_spanned(meta.path.to_token_stream(), what));
            }
            Ok(())
        })?;
    }
    Ok(column)
}

/// True if the type is written as an `Option` of something.
fn is_option(of: &Type) -> bool {
    let Type::Path(path) = of else {
        return false;
    };
    let Some(last) = path.path.segments.last() else {
        return false;
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return false;
    };
    last.ident == "Option" && matches!(arguments.args.first(), Some(GenericArgument::Type(_)))
}
