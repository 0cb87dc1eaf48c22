/** The vectors of one kind, by the name of their file: what is broken in it, or what is valid. */
export type Vectors = Readonly<Record<string, object>>
