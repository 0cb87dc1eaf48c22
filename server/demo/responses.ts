/** The parts of the service's responses that the demo reads. */

export interface CreatedSourceSystem {
  readonly apiKey: string
}

export interface RecordedEvents {
  readonly events: readonly { readonly txId: string; readonly version: number }[]
}

export interface EventOnPage {
  readonly txId: string
  readonly updateType?: string
  /** Present with `disclose=1`. */
  readonly disclosure?: {
    readonly opening?: unknown
    readonly filesText?: string
    readonly filesSalt?: unknown
    readonly files: Readonly<Record<string, unknown>>
  }
}

export interface EvidencePage {
  readonly events: readonly EventOnPage[]
  readonly isMore: boolean
}

export interface EvidenceList {
  readonly dts: readonly { readonly id: string; readonly externalId: string }[]
  readonly isMore: boolean
}

export interface FileList {
  readonly dt: readonly { readonly overlayId: string }[]
}

export interface ProofStatus {
  readonly status: string
  /** `C`: a confirmed anchor covers the event. */
  readonly sendStatus?: string | null
}
