/** A key that signs checkpoints. */
export interface CheckpointKeyInfo {
  /** C2SP verifier key: `origin+hash+base64`. */
  readonly vkey: string
  /** `pending`: the signer has it, and it is not in the log yet. The next rotation takes the first pending one. */
  readonly state: 'retired' | 'current' | 'pending'
  /** The smallest tree size that it signs: one more than the position of its entry. `null` while it is pending. */
  readonly from: number | null
  /** The largest tree size that it signs. `null`: the current key, or pending. */
  readonly until: number | null
  /** Whether this process has the private key. A retired one is not needed. */
  readonly isHeld: boolean
}

export interface RotateOptions {
  /** With shared records: every server has the pending key in its keyring. Default false. */
  readonly allServersHaveIt?: boolean
}

/** The checkpoint keys of a log. */
export interface CheckpointKeys {
  /** All keys of the log, oldest first, then the pending ones. */
  list(): Promise<readonly CheckpointKeyInfo[]>
  /**
   * Puts the first pending key into the log, signed by the current key. From the first batch that contains its entry,
   * it signs the checkpoints. Returns the key.
   *
   * With shared records, another server that does not have the key cannot sign from then on, so the caller must say
   * that all have it.
   *
   * @throws RegistryError `CONFIG_ERROR` if there is no pending key, or with shared records without
   *   `allServersHaveIt`, `LOG_KEY_MISMATCH` if the current private key is not here, `UNAVAILABLE` if the log is
   *   unchanged, `UNKNOWN_OUTCOME` if the key may be in the log: look with `list`
   */
  rotate(options?: RotateOptions): Promise<CheckpointKeyInfo>
}
