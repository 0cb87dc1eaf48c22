/**
 * Identifiers in results. They are plain strings at run time; the brand only stops the compiler from accepting one kind
 * of id in the position of another. Inputs of the public API take plain strings.
 */
declare const kind: unique symbol
type Branded<Kind extends string> = string & { readonly [kind]: Kind }

/** 1 to 64 of `A-Z a-z 0-9 . _ -`, but not `.` or `..`. Chosen by the operator. */
export type CompanyId = Branded<'company'>
/** Of a category or a subcategory. UUIDv7 in lowercase, as all ids below. */
export type CategoryId = Branded<'category'>
/** The internal id of an evidence. The id that the caller chose is its external id. */
export type EvidenceId = Branded<'evidence'>
export type FileId = Branded<'file'>
export type SourceSystemId = Branded<'sourceSystem'>
export type BatchId = Branded<'batch'>
/** SHA-256 of an event's opening: 64 lowercase hex digits. Our commitment, not a transaction of a chain. */
export type TxId = Branded<'txId'>
