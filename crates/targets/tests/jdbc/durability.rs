//! What the products say of their durability is what they are: their defaults are no better reported
//! than they are, and a word that cannot be honoured is refused.
