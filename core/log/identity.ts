/** Whose log it is, and who signs for it. */
export interface LogIdentity {
  /** `NAME/ID`: the log's name in checkpoints, and the note's key name. */
  readonly origin: string
  /** The C2SP verifier key of the checkpoint key in use: `origin+hash+base64`. */
  readonly verifierKey: string
  /** The whole signed note for a tree of `size` with this root (32 bytes). Ed25519 is deterministic: the same bytes each time. */
  signCheckpoint(size: number, root: Uint8Array): string
}
