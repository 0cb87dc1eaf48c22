// Made by `npm run generate` from the OpenAPI document. Do not edit.
// It has the types of every request and response. A build removes all of it.
import type { RequestOptions, Upload } from './options.ts'

/** Every endpoint of the service, by the id of its operation. */
export interface Operations {
  /** List categories with their subcategories */
  listCategories(
    request?: {
      /** Default: the company of the client */
      readonly companyId?: string
    },
    options?: RequestOptions,
  ): Promise<CategoryList>
  /**
   * Create a category. Names are unique in the company. In JSON `image` is `{name?, mimeType, data}` with base64
   * data, in a form a file part.
   */
  createCategory(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** a string of 1 to 256 characters without / and control characters */
      readonly name: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly description?: string
      readonly image?: Upload | InlineImage
    },
    options?: RequestOptions,
  ): Promise<Created>
  /** Get a category */
  getCategory(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A category's id */
      readonly categoryId: string
    },
    options?: RequestOptions,
  ): Promise<CategoryDetails>
  /**
   * Update, activate, deactivate or remove a category. `file` is added to the files. If it is an image, it also
   * becomes the icon. Only an empty category can be removed.
   */
  updateCategory(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A category's id */
      readonly categoryId: string
      /** a string of 1 to 256 characters without / and control characters */
      readonly name?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly description?: string
      /** an array with names of description */
      readonly clear?: readonly 'description'[]
      readonly action?: 'CHANGE' | 'ACTIVATE' | 'DEACTIVATE' | 'REMOVE'
      readonly file?: Upload
    },
    options?: RequestOptions,
  ): Promise<ImageChanged>
  /** Create a subcategory. As creating a category; names are unique in the category. */
  createSubcategory(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A category's id */
      readonly categoryId: string
      /** a string of 1 to 256 characters without / and control characters */
      readonly name: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly description?: string
      readonly image?: Upload | InlineImage
    },
    options?: RequestOptions,
  ): Promise<Created>
  /** Get a subcategory */
  getSubcategory(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A category's id */
      readonly categoryId: string
      /** A subcategory's id */
      readonly subcategoryId: string
    },
    options?: RequestOptions,
  ): Promise<CategoryDetails>
  /** Update, activate, deactivate or remove a subcategory */
  updateSubcategory(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A category's id */
      readonly categoryId: string
      /** A subcategory's id */
      readonly subcategoryId: string
      /** a string of 1 to 256 characters without / and control characters */
      readonly name?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly description?: string
      /** an array with names of description */
      readonly clear?: readonly 'description'[]
      readonly action?: 'CHANGE' | 'ACTIVATE' | 'DEACTIVATE' | 'REMOVE'
      readonly file?: Upload
    },
    options?: RequestOptions,
  ): Promise<ImageChanged>
  /** List a subcategory's files and its category's */
  listSubcategoryFiles(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A category's id */
      readonly categoryId: string
      /** A subcategory's id */
      readonly subcategoryId: string
    },
    options?: RequestOptions,
  ): Promise<FileListing>
  /**
   * Create an evidence. Category and subcategory are given by id or by name; an id takes precedence. A name that
   * does not exist yet is created. `meta` is JSON text in a form. The text of `images` is a JSON array of titles
   * for the files, or one title for all of them.
   */
  createEvidence(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** a string of 1 to 256 characters without / and control characters */
      readonly categoryName?: string
      readonly categoryId?: string
      /** a string of 1 to 256 characters without / and control characters */
      readonly subcategoryName?: string
      readonly subcategoryId?: string
      /** a string of 1 to 128 characters without control characters (but not . or ..) */
      readonly externalId: string
      /** a string of 1 to 256 characters without control characters */
      readonly name: string
      /** a string of at most 256 characters without control characters */
      readonly owner?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly description?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly summary?: string
      /** a JSON object of at most 64 KiB and 32 levels */
      readonly meta?: { readonly [name: string]: unknown }
      readonly image?: Upload
      readonly images?: readonly Upload[]
    },
    options?: RequestOptions,
  ): Promise<CreatedEvidence>
  /**
   * Create one evidence or many. One evidence as above, or `evidences`: up to 1,000 of them without files, all
   * or none.
   */
  createEvidences(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A category's id */
      readonly categoryId: string
      /** A subcategory's id */
      readonly subcategoryId: string
      /** a string of 1 to 128 characters without control characters (but not . or ..) */
      readonly externalId: string
      /** a string of 1 to 256 characters without control characters */
      readonly name: string
      /** a string of at most 256 characters without control characters */
      readonly owner?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly description?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly summary?: string
      /** a JSON object of at most 64 KiB and 32 levels */
      readonly meta?: { readonly [name: string]: unknown }
      readonly image?: Upload
      readonly images?: readonly Upload[]
    } | {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A category's id */
      readonly categoryId: string
      /** A subcategory's id */
      readonly subcategoryId: string
      /** 1 to 1000 evidences, all or none */
      readonly evidences: readonly EvidenceInput[]
    },
    options?: RequestOptions,
  ): Promise<CreatedEvidences>
  /**
   * List evidences, newest first. The whole list, or with `len` a page of it. `last` is the id of the last item
   * that you have; `count` is the number of all that match. With `externalId`, `owner`, `status`, `createdFrom`,
   * `createdTo` or `sort`, the next page begins at `next` of the page before, and at most 10,000 matches are
   * counted. All conditions must hold: one is looked up in an index, the others are applied to what it finds,
   * and a page reads at most 10,000 index entries. So a page can have fewer than `len` items, or none, although
   * `isMore` is true.
   */
  listEvidences(
    request?: {
      /** Default: the company of the client */
      readonly companyId?: string
      readonly categoryId?: string
      readonly subcategoryId?: string
      /** The beginning of the external id, in upper and lower case as it is */
      readonly externalId?: string
      /** The whole name of the current owner, in upper or lower case */
      readonly owner?: string
      readonly status?: 'active' | 'stolen'
      /** a time in RFC 3339, such as 2027-01-31T12:00:00Z */
      readonly createdFrom?: string
      /** a time in RFC 3339, such as 2027-01-31T12:00:00Z */
      readonly createdTo?: string
      /** By the time of the last event, latest first */
      readonly sort?: 'updated'
      /** an integer of at least 1; values above 1000 count as 1000 */
      readonly len?: number
      /** Id of the last item that you have; not with a filter that needs `next` */
      readonly last?: string
      /** `next` of the page before; the rest of the query must be the same */
      readonly next?: string
    },
    options?: RequestOptions,
  ): Promise<EvidenceList>
  /**
   * Get an evidence and a page of its history. `last` is the version of the last event that you have (default
   * 0), `len` the number of events to return (default 50, at most 500). `disclose=1` adds what is needed to
   * recompute each txId.
   */
  getEvidence(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** The evidence's external id, percent-encoded: `%2F` is part of it */
      readonly externalId: string
      /** an integer of at least 0 */
      readonly last?: number
      /** an integer of at least 1; values above 500 count as 500 */
      readonly len?: number
      /** true, false, 1 or 0 */
      readonly disclose?: boolean
    },
    options?: RequestOptions,
  ): Promise<EvidencePage>
  /**
   * Update or transfer an evidence, and attach files. Records up to three events in one step: the changed
   * content, the transfer to another owner, the files. An empty value, null and an equal value change nothing;
   * `clear` removes values. `If-Match` is the version of the last event that you know, or the ETag of the
   * evidence.
   */
  updateEvidence(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** The evidence's external id, percent-encoded: `%2F` is part of it */
      readonly externalId: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly updateActionDescription?: string
      /** a string of at most 256 characters without control characters */
      readonly updateActionPersona?: string
      /** a string of 1 to 256 characters without control characters */
      readonly name?: string
      /** a string of at most 256 characters without control characters */
      readonly owner?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly description?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly summary?: string
      /** a string of at most 8,192 characters without control characters except tab, LF and CR */
      readonly eventDescription?: string
      /** a JSON object of at most 64 KiB and 32 levels */
      readonly meta?: { readonly [name: string]: unknown }
      /** an array with names of owner, description, summary, meta */
      readonly clear?: readonly ('owner' | 'description' | 'summary' | 'meta')[]
      readonly action?: 'update' | 'transfer'
      readonly actionType?: 'stolen' | 'repair' | 'custom' | 'change'
      readonly stolen?: boolean
      readonly file?: Upload
      readonly files?: readonly Upload[]
    },
    options?: RequestOptions,
  ): Promise<UpdatedEvidence>
  /**
   * The proof bundle: one file that anyone can verify offline. The whole history with its proofs. `fields` and
   * `files` select what is disclosed to the reader of the file; everything else stays a hash. Check it with `npx
   * evidence-registry verify`.
   */
  getBundle(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** The evidence's external id, percent-encoded: `%2F` is part of it */
      readonly externalId: string
      /** all, none, or names of the fields to disclose, separated by commas */
      readonly fields: string
      /** all, none, or ids of the files to disclose, separated by commas */
      readonly files: string
      /** true, false, 1 or 0 */
      readonly history?: boolean
    },
    options?: RequestOptions,
  ): Promise<Response>
  /** List an evidence's files, its category's and its subcategory's */
  listEvidenceFiles(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** The evidence's external id, percent-encoded: `%2F` is part of it */
      readonly externalId: string
    },
    options?: RequestOptions,
  ): Promise<FileListing>
  /**
   * Download a file. Whole or one range. Every owner that the query names must own the file. `ETag` is the
   * SHA-256 of the content. Always an attachment, and sandboxed, because files come from strangers.
   */
  downloadFile(
    request?: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** Id of the file; not needed with a token */
      readonly fileId?: string
      /** External id of the evidence that must own the file */
      readonly evidenceId?: string
      /** Category that must own the file */
      readonly categoryId?: string
      /** Subcategory that must own the file */
      readonly subcategoryId?: string
      /** Content-Type of the response. Default: the stored type */
      readonly mimeType?: string
      /** Opens one file without an API key */
      readonly token?: string
    },
    options?: RequestOptions,
  ): Promise<Response>
  /**
   * Delete a file. Appends a deletefile event and destroys the bytes; the history still verifies. Deleting a
   * file of a category records no event.
   */
  deleteFile(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      readonly fileId: string
      readonly evidenceId?: string
      readonly categoryId?: string
      readonly subcategoryId?: string
    },
    options?: RequestOptions,
  ): Promise<Ok>
  /** Create a token that opens one file for five minutes without a key */
  createFileToken(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      readonly fileId: IdInput
    },
    options?: RequestOptions,
  ): Promise<FileToken>
  /**
   * List source systems, without their keys. `lastUsedAt` is exact to the minute, and may miss the last minute
   * before a server died.
   */
  listSourceSystems(
    request?: {
      /** Default: the company of the client */
      readonly companyId?: string
    },
    options?: RequestOptions,
  ): Promise<SourceSystemList>
  /**
   * Create a source system. The operator key creates a company with its first source system. Without `apiKey`
   * the service makes a key and shows it only this once. A key cannot grant a level above its own.
   */
  createSourceSystem(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      readonly name: Name
      /** a string of 16 to 1,024 printable ASCII characters without spaces */
      readonly apiKey?: string
      /** R reads; I also creates; U also updates; A also manages source systems */
      readonly permissions?: 'I' | 'U' | 'R' | 'A'
      /** a time in RFC 3339, such as 2027-01-31T12:00:00Z */
      readonly expiresAt?: string
    },
    options?: RequestOptions,
  ): Promise<CreatedSourceSystem>
  /** Get a source system, without its key */
  getSourceSystem(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A source system's id */
      readonly systemId: string
    },
    options?: RequestOptions,
  ): Promise<SourceSystem>
  /**
   * Rotate the key, rename, change permissions or expiry, (de)activate. The previous key stops working at once,
   * or after `graceSeconds`. A rotation without `graceSeconds` also ends every earlier grace period. `expiresAt`
   * stays as it is when the key is replaced.
   */
  updateSourceSystem(
    request: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** A source system's id */
      readonly systemId: string
      /** a string of 1 to 256 characters without control characters */
      readonly name?: string
      /** a string of 16 to 1,024 printable ASCII characters without spaces */
      readonly apiKey?: string
      /** an integer of 0 to 604800 */
      readonly graceSeconds?: number
      /** R reads; I also creates; U also updates; A also manages source systems */
      readonly permissions?: 'I' | 'U' | 'R' | 'A'
      readonly active?: boolean
      /** a time in RFC 3339, such as 2027-01-31T12:00:00Z */
      readonly expiresAt?: string
    },
    options?: RequestOptions,
  ): Promise<Ok>
  /** Whether the key belongs to an active source system of the company */
  checkSourceSystem(
    request?: {
      /** Default: the company of the client */
      readonly companyId?: string
    },
    options?: RequestOptions,
  ): Promise<Ok>
  /** The source system of the key in the request */
  getOwnSourceSystem(
    request?: {
      /** Default: the company of the client */
      readonly companyId?: string
    },
    options?: RequestOptions,
  ): Promise<OwnSourceSystem>
  /**
   * Who created, changed and rotated, who used a wrong key, who made file tokens. Newest first. Changes of
   * source systems are kept for ever; of rejected keys and file tokens the newest 10,000, equal ones of a minute
   * as one entry. These two are written within a minute, so a server that dies may lose some.
   */
  listAudit(
    request?: {
      /** Default: the company of the client */
      readonly companyId?: string
      /** an integer of at least 1; values above 1000 count as 1000 */
      readonly len?: number
      /** Id of the last item that you have */
      readonly last?: string
    },
    options?: RequestOptions,
  ): Promise<AuditPage>
  /** List companies (only with the operator key) */
  listCompanies(
    request?: {
      /** an integer of at least 1; values above 1000 count as 1000 */
      readonly len?: number
      /** Id of the last item that you have */
      readonly last?: string
    },
    options?: RequestOptions,
  ): Promise<CompanyPage>
  /**
   * Recompute a root from a proof. `valid`: the path leads to `merkleRoot`. `unknown_root`: this log never
   * sealed that root. Without positions, leaf index and tree size are those of the batch of `txId`.
   */
  validateProof(
    request: {
      /** 64 hex digits in either case, with or without 0x */
      readonly txId: string
      /** 64 hex digits in either case, with or without 0x */
      readonly merkleRoot: string
      readonly proof: readonly {
        /** 64 hex digits in either case, with or without 0x */
        readonly hash: string
        readonly position?: 'left' | 'right'
      }[]
    },
    options?: RequestOptions,
  ): Promise<MerkleValidation>
  /**
   * Prove an evidence. `evidenceId` is the internal id, which takes precedence, or the external id. With
   * `companyId` the external id takes precedence. If several companies use the external id, choose one of the
   * `candidates` by its internal id or by `txId`, or name the company.
   */
  verifyEvidence(
    request: {
      /** The evidence's id, or its external id */
      readonly evidenceId: string
      /** Company of the evidence. Its external ids then take precedence over internal ids */
      readonly companyId?: string
      /** txId of the creation: selects one of several evidences */
      readonly txId?: string
      /** `bundle`: one file that can be verified offline */
      readonly format?: 'json' | 'bundle'
    },
    options?: RequestOptions,
  ): Promise<EvidenceProof>
  /** Prove a file of an evidence */
  verifyFile(
    request: {
      /** The evidence's id, or its external id */
      readonly evidenceId: string
      /** The file's id */
      readonly fileId: string
      /** Company of the evidence. Its external ids then take precedence over internal ids */
      readonly companyId?: string
      /** txId of the creation: selects one of several evidences */
      readonly txId?: string
      /** `bundle`: one file that can be verified offline */
      readonly format?: 'json' | 'bundle'
    },
    options?: RequestOptions,
  ): Promise<FileProof>
  /** A transaction's path to the root of its batch */
  getProof(
    request: {
      /** A transaction id: 64 hex digits in either case, with or without `0x` */
      readonly txId: string
    },
    options?: RequestOptions,
  ): Promise<MerkleProof>
  /** The root of a transaction's batch, and its time stamp */
  getRoot(
    request: {
      /** A transaction id: 64 hex digits in either case, with or without `0x` */
      readonly txId: string
    },
    options?: RequestOptions,
  ): Promise<MerkleRoot>
  /** The time stamp that covers a batch: a whole RFC 3161 TimeStampResp, DER */
  getTimestampToken(
    request: {
      /** A batch's id */
      readonly batchId: string
    },
    options?: RequestOptions,
  ): Promise<Response>
  /**
   * What a verifier pins: keys, witnesses, timestamp authorities, chains. Pin it once, from a source that you
   * trust. `format=text` returns its C2SP tlog-policy lines alone.
   */
  getPolicy(
    request?: {
      /** `text`: the C2SP tlog-policy lines alone */
      readonly format?: 'json' | 'text'
    },
    options?: RequestOptions,
  ): Promise<LogPolicy>
  /** The newest signed checkpoint */
  getCheckpoint(
    request?: { readonly [name: string]: never },
    options?: RequestOptions,
  ): Promise<string>
  /**
   * The sealed batches, newest first, each with the stamp and the anchor that cover it. To continue, send the id
   * of the last batch that you have as `last`.
   */
  listBatches(
    request?: {
      /** an integer of at least 1; values above 200 count as 200 */
      readonly len?: number
      /** Id of the last batch that you have */
      readonly last?: string
    },
    options?: RequestOptions,
  ): Promise<BatchPage>
  /**
   * An entry bundle: each 32-byte entry after its length in two bytes. `N` is the tile's index in groups of
   * three digits such as `x001/067`, followed by `.p/W` for the first W of a partial tile.
   */
  getEntries(
    request: {
      /** Index and width of the tile as C2SP tlog-tiles writes them; may contain slashes */
      readonly tile: string
    },
    options?: RequestOptions,
  ): Promise<Response>
  /**
   * The openings of the entries of a bundle, in hex, one per line. An entry is the SHA-256 of its opening. `N`
   * is the tile's index in groups of three digits such as `x001/067`, followed by `.p/W` for the first W of a
   * partial tile.
   */
  getOpenings(
    request: {
      /** Index and width of the tile as C2SP tlog-tiles writes them; may contain slashes */
      readonly tile: string
    },
    options?: RequestOptions,
  ): Promise<string>
  /**
   * A tile: up to 256 hashes of level 8 × L. `N` is the tile's index in groups of three digits such as
   * `x001/067`, followed by `.p/W` for the first W of a partial tile.
   */
  getTile(
    request: {
      /** Level of the tile, from 0 */
      readonly level: string
      /** Index and width of the tile as C2SP tlog-tiles writes them; may contain slashes */
      readonly tile: string
    },
    options?: RequestOptions,
  ): Promise<Response>
  /** The OpenAPI 3.1 document of this service */
  getOpenApi(
    request?: { readonly [name: string]: never },
    options?: RequestOptions,
  ): Promise<OpenApi>
  /** Whether the process responds */
  livez(
    request?: { readonly [name: string]: never },
    options?: RequestOptions,
  ): Promise<Ok>
  /** Whether a load balancer should send requests to it */
  readyz(
    request?: { readonly [name: string]: never },
    options?: RequestOptions,
  ): Promise<Readiness>
  /** Metrics for Prometheus */
  metrics(
    request?: { readonly [name: string]: never },
    options?: RequestOptions,
  ): Promise<string>
}

export type AssuranceLevel = 'none' | 'operator' | 'independent'

export interface AssuranceNote {
  readonly time: AssuranceLevel
  readonly anchor: AssuranceLevel
  readonly note: string
}

/** No entry contains a key */
export type AuditEntry = {
  readonly id: Id
  readonly at: DateTime
  readonly type: 'created' | 'changed'
  /** Who did it: the id of a source system, or `operator` */
  readonly actor: string
  readonly systemId: Id
  readonly values: {
    /** a string of 1 to 256 characters without control characters */
    readonly name?: string
    /** R reads; I also creates; U also updates; A also manages source systems */
    readonly permissions?: 'I' | 'U' | 'R' | 'A'
    readonly active?: boolean
    /** a time in RFC 3339, UTC, with milliseconds */
    readonly expiresAt?: string
  }
} | {
  readonly id: Id
  readonly at: DateTime
  readonly type: 'rotated'
  /** Who did it: the id of a source system, or `operator` */
  readonly actor: string
  readonly systemId: Id
  /** a time in RFC 3339, UTC, with milliseconds */
  readonly replacedKeyEndsAt?: string
} | {
  readonly id: Id
  readonly at: DateTime
  readonly type: 'rejected'
  readonly reason: 'unknown' | 'inactive' | 'expired' | 'replaced'
  /** a UUID in lowercase */
  readonly systemId?: string
  readonly address?: string
  /** How often it happened in about a minute. `at` is the first time */
  readonly count: number
} | {
  readonly id: Id
  readonly at: DateTime
  readonly type: 'fileToken'
  /** Who did it: the id of a source system, or `operator` */
  readonly actor: string
  readonly fileId: Id
  /** How often it happened in about a minute. `at` is the first time */
  readonly count: number
}

export interface AuditPage {
  /** Newest first */
  readonly entries: readonly AuditEntry[]
  readonly isMore: boolean
}

/** No key, a wrong key, or a key without the permission */
export interface AuthorizationError {
  readonly statusCode: 401 | 403
  readonly message: 'Unauthorized' | 'Forbidden resource'
}

/** base64 */
export type Base64 = string

export interface BatchPage {
  /** Newest first */
  readonly batches: readonly LogBatch[]
  readonly isMore: boolean
}

export interface BulkEvidences {
  /** 1 to 1000 evidences, all or none */
  readonly evidences: readonly EvidenceInput[]
}

export interface Bundle {
  readonly format: 'evidence-registry.bundle'
  readonly version: 1
  /** The log */
  readonly origin: string
  readonly subject: BundleSubject
  readonly events: readonly BundleEvent[]
  /** In the order of the log, entry 0 first */
  readonly keys: readonly BundleKey[]
  /** By ascending size, each size once */
  readonly checkpoints: readonly BundleCheckpoint[]
  /** Certificates, CRLs and OCSP responses (DER) for the tokens of all checkpoints, each once */
  readonly validationData: readonly BundleValidationData[]
  /** Tokens that the newest stamp renews. Absent if there are none */
  readonly renewals?: readonly BundleRenewal[]
  readonly claimedPolicy?: {
    readonly origin: string
    /** Every checkpoint key, oldest first */
    readonly keys: readonly {
      /** C2SP verifier key */
      readonly vkey: string
      /** The smallest tree size that the key signs */
      readonly from: number
      /** The largest tree size that it signs; null: it is the newest key */
      readonly until: number | null
    }[]
    readonly witnesses: readonly {
      /** Local to this policy */
      readonly name: string
      /** C2SP verifier key */
      readonly vkey: string
      /** Submission prefix */
      readonly url?: string
    }[]
    readonly groups: readonly {
      readonly name: string
      readonly threshold: 'all' | 'any' | number
      readonly members: readonly string[]
    }[]
    /** The witness or group that must have cosigned a checkpoint, or none */
    readonly quorum: string
    readonly timestampAuthorities: readonly {
      readonly name: string
      readonly trustAnchors: readonly string[]
    }[]
    /** How many of them must have stamped a checkpoint */
    readonly timestampQuorum: number
    readonly chains: readonly {
      readonly type: string
      readonly network: string
      readonly chainId: number
      /** evm: the sender's address. local: the ledger's Ed25519 public key in hex */
      readonly account: string
    }[]
    /** Free for other programs. Nothing in it is verified */
    readonly extensions?: { readonly [name: string]: unknown }
  }
  /** Free for other programs. Nothing in it is verified */
  readonly extensions?: { readonly [name: string]: unknown }
}

export interface BundleAnchor {
  /** `evm`, `local`, …: which format `proof` has */
  readonly type: string
  readonly network: string
  readonly chainId: number
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
  /**
   * The adapter's own proof. evm: JSON with the raw transaction, the block's header and the trie path. local:
   * the line of the ledger's file that holds the block. For any other type base64
   */
  readonly proof: string
}

export interface BundleCheckpoint {
  /** C2SP tlog-checkpoint with the signature of the log alone: the stamped bytes */
  readonly note: string
  /** Signature lines of witnesses (C2SP tlog-cosignature), without the line feed */
  readonly cosignatures: readonly string[]
  /** Whole RFC 3161 TimeStampResps over the bytes of `note` */
  readonly tokens: readonly string[]
  /** Transactions that carry the bytes of `note` */
  readonly anchors: readonly BundleAnchor[]
}

export interface BundleEvent {
  /** 120 bytes. Its SHA-256 is the txId, a log entry */
  readonly opening: string
  /** Index of the entry in the log. Absent until it is sealed */
  readonly position?: number
  /**
   * Under the earliest stamped and the earliest anchored checkpoint that cover the event; without either, under
   * the earliest checkpoint. Empty until the event is sealed
   */
  readonly inclusion: readonly BundleInclusion[]
  /** Exact text. Only in bundles made with a key */
  readonly header?: string
  /** Exact text of the map of file hashes. Always together with filesSalt */
  readonly filesText?: string
  /** a SHA-256 hash of 64 lowercase hex digits */
  readonly filesSalt?: string
  /** Disclosed fields by name. Needs header */
  readonly fields?: { readonly [name: string]: {
    readonly text: string
    readonly salt: Hash
  } }
  /** Disclosed files by id. Needs filesText */
  readonly files?: { readonly [name: string]: {
    readonly text: string
    readonly salt: Hash
  } }
}

export interface BundleInclusion {
  /** The size of a checkpoint in `checkpoints` */
  readonly treeSize: number
  /** From the sibling of the leaf to the child of the root */
  readonly path: readonly Hash[]
}

export interface BundleKey {
  /** Its SHA-256 is a log entry */
  readonly opening: string
  readonly position: number
  /** Under every checkpoint of the bundle that this key signed, which proves that the tree holds its entry */
  readonly inclusion: readonly BundleInclusion[]
}

export interface BundleRenewal {
  /** 48 bytes. Its SHA-256 is a log entry */
  readonly opening: string
  readonly position: number
  /** Under a later checkpoint of the bundle, whose tokens prove that this token existed */
  readonly inclusion: readonly BundleInclusion[]
}

export type BundleSubject = {
  readonly type: 'evidence'
  readonly txId: Hash
} | {
  readonly type: 'file'
  readonly txId: Hash
  readonly fileId: string
}

export interface BundleValidationData {
  readonly type: 'certificate' | 'crl' | 'ocsp'
  readonly data: string
}

export interface CategoryChange {
  /** a string of 1 to 256 characters without / and control characters */
  readonly name?: string
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly description?: string
  /** an array with names of description */
  readonly clear?: readonly 'description'[]
  readonly action?: 'CHANGE' | 'ACTIVATE' | 'DEACTIVATE' | 'REMOVE'
}

export interface CategoryDetails {
  readonly path: string
  readonly name: string
  readonly status: 'active' | 'inactive' | 'removed'
  readonly fileIds: readonly FileEntry[]
  readonly digitalTwinsCount: Count
  /** a UUID in lowercase */
  readonly imageId?: string
  readonly description?: string
}

export interface CategoryList {
  readonly categories: readonly {
    readonly id: Id
    readonly path: string
    readonly name: string
    readonly status: 'active' | 'inactive' | 'removed'
    readonly fileIds: readonly FileEntry[]
    readonly digitalTwinsCount: Count
    /** a UUID in lowercase */
    readonly imageId?: string
    readonly description?: string
    readonly subcategories: readonly {
      readonly id: Id
      readonly path: string
      readonly name: string
      readonly status: 'active' | 'inactive' | 'removed'
      readonly fileIds: readonly FileEntry[]
      readonly digitalTwinsCount: Count
      /** a UUID in lowercase */
      readonly imageId?: string
      readonly description?: string
    }[]
  }[]
  readonly count: Count
}

/** a string of 1 to 256 characters without / and control characters */
export type CategoryName = string

export interface Company {
  readonly id: string
  readonly createdAt: DateTime
  readonly sourceSystemCount: Count
  readonly categoryCount: Count
  readonly evidenceCount: Count
}

export interface CompanyPage {
  /** In ascending order of their ids */
  readonly companies: readonly Company[]
  readonly isMore: boolean
}

export type Count = number

export interface Created {
  readonly id: Id
}

export interface CreatedEvidence {
  readonly id: Id
  readonly txId: Hash
  readonly version: Version
  readonly events: readonly RecordedEvent[]
}

export interface CreatedEvidences {
  readonly ids: readonly Id[]
  readonly count: Count
  /** a UUID in lowercase */
  readonly id?: string
  readonly events: readonly {
    readonly id: Id
    readonly txId: Hash
    readonly version: Version
  }[]
  /** a SHA-256 hash of 64 lowercase hex digits */
  readonly txId?: string
  readonly version?: number
}

export interface CreatedSourceSystem {
  readonly id: Id
  /** Only if the service made the key, and only this once */
  readonly apiKey?: string
}

/** a time in RFC 3339, UTC, with milliseconds */
export type DateTime = string

export interface EventMerkleProof {
  readonly batchId: Id
  readonly merkleRoot: Hash
  readonly leafIndex: number
  readonly treeSize: number
  readonly sendStatus: SendStatus
  readonly proof: readonly ProofItem[]
  /** The whole signed note (C2SP tlog-checkpoint) at treeSize */
  readonly checkpoint: string
  readonly anchor?: {
    readonly type: string
    readonly network: string
    /** 0 if the chain has none */
    readonly chainId: number
    readonly txHash: string
    readonly blockNumber: number
    readonly blockHash: string
    readonly blockTime: DateTime
    readonly confirmations: number
    readonly treeSize: number
    readonly merkleRoot: Hash
    readonly checkpoint: string
    readonly consistency: readonly Hash[]
  }
}

export interface Evidence {
  readonly id: Id
  readonly categoryId: Id
  readonly subcategoryId: Id
  readonly externalId: string
  readonly createDate: DateTime
  readonly name: string
  readonly status: 'active' | 'stolen'
  readonly description?: string
  /** a UUID in lowercase */
  readonly imageId?: string
  readonly summary?: string
  readonly owner?: string
  readonly txId: Hash
  /** a JSON object of at most 64 KiB and 32 levels */
  readonly meta?: { readonly [name: string]: unknown }
}

export interface EvidenceCandidate {
  readonly id: Id
  readonly txId: Hash
  readonly createdAt: DateTime
}

export interface EvidenceEvent {
  readonly timestamp: DateTime
  readonly personaName?: string
  readonly ownerName: string
  readonly type: 'update' | 'transfer' | 'create'
  readonly updateType?: 'stolen' | 'repair' | 'custom' | 'change' | 'addfile' | 'deletefile'
  readonly eventDescription?: string
  readonly updateDescription?: string
  readonly txId: Hash
  readonly version: Version
  /** a JSON object of at most 64 KiB and 32 levels */
  readonly meta?: { readonly [name: string]: unknown }
  readonly merkleBatchId: Id | null
  readonly merkleSendStatus: SendStatus | null
  /**
   * What is needed to recompute the txId. What was erased is absent here, and only its hash is in the header or
   * filesText
   */
  readonly disclosure?: {
    /** The 120 bytes whose SHA-256 is the txId, hex */
    readonly opening: string
    readonly header: string
    readonly filesText: string
    readonly filesSalt: Hash
    readonly fields: { readonly [name: string]: {
      /** The exact text that was hashed */
      readonly text: string
      readonly salt: Hash
    } }
    readonly files: { readonly [name: string]: {
      /** The exact text that was hashed */
      readonly text: string
      readonly salt: Hash
    } }
  }
}

export interface EvidenceInput {
  readonly externalId: ExternalId
  readonly name: Name
  /** a string of at most 256 characters without control characters */
  readonly owner?: string
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly description?: string
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly summary?: string
  /** a JSON object of at most 64 KiB and 32 levels */
  readonly meta?: { readonly [name: string]: unknown }
}

export interface EvidenceList {
  readonly dts: readonly EvidenceListItem[]
  readonly count: Count
  /** Present if more may match: of a filtered list, at most 10,000 are counted */
  readonly countIsMore?: true
  /** Only with len */
  readonly isMore?: boolean
  /** Where the next page of a filtered or sorted list begins. Opaque */
  readonly next?: string
}

export interface EvidenceListItem {
  readonly id: Id
  readonly externalId: string
  readonly name: string
  readonly creationDate: DateTime
  readonly owner: {
    readonly name: string
  }
  readonly historyChanges: {
    readonly create: Count
    readonly update: Count
    readonly transfer: Count
    readonly total: Count
  }
  readonly categoryId: Id
  readonly subcategoryId: Id
  readonly txId: Hash
  readonly summary?: string
  readonly lastUpdateDate: DateTime
  readonly lastUpdateTxId: Hash
  readonly iconId: {
    readonly id: Id
    readonly mimeType: string
  } | null
  readonly stolen: boolean
  readonly blockNumber?: number
  readonly lastUpdateBlockNumber?: number
}

export type EvidenceOrBulk = EvidenceInput | BulkEvidences

export interface EvidencePage {
  readonly object: Evidence
  readonly events: readonly EvidenceEvent[]
  readonly lastVersion: Count
  readonly isMore: boolean
}

export type EvidenceProof = {
  readonly status: 'ok'
  readonly evidenceId: string
  readonly txId: Hash
  readonly createdAt: DateTime
  readonly fileCount: number
  readonly opening: string
  readonly assurance: AssuranceNote
  readonly merkle: EventMerkleProof
  readonly blockNumber?: number
  readonly tsa?: {
    readonly authority: string
    readonly genTime: DateTime
    readonly serialNumber: string
    readonly policy: string
    readonly hashAlgorithm: string
    readonly imprint: string
    /** The whole RFC 3161 TimeStampResp, base64 */
    readonly token: string
    readonly treeSize: number
    readonly checkpoint: string
    readonly consistency: readonly Hash[]
    /** Only in tsas: certificates, CRLs and OCSP responses (DER, base64), kept for later checks of the token */
    readonly evidence?: readonly {
      readonly type: 'certificate' | 'crl' | 'ocsp'
      readonly data: string
    }[]
  }
  /**
   * Every token over the same checkpoint as tsa, which is the token by which a quorum of authorities vouches for
   * the time
   */
  readonly tsas?: readonly TsaProof[]
} | {
  readonly status: 'pending'
  readonly evidenceId: string
  readonly txId: Hash
  readonly createdAt: DateTime
  readonly fileCount: number
  readonly opening: string
  readonly assurance: AssuranceNote
}

export interface EvidenceProofAmbiguous {
  readonly status: 'ambiguous'
  readonly evidenceId: string
  readonly error: string
  readonly code: string
  /** The evidences that the external id can mean, oldest first: their internal ids */
  readonly candidates: readonly EvidenceCandidate[]
}

export interface EvidenceProofNotFound {
  readonly status: 'not_found'
  readonly evidenceId: string
  readonly error: string
  readonly code: string
}

export interface EvidenceUpdate {
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly updateActionDescription?: string
  /** a string of at most 256 characters without control characters */
  readonly updateActionPersona?: string
  /** a string of 1 to 256 characters without control characters */
  readonly name?: string
  /** a string of at most 256 characters without control characters */
  readonly owner?: string
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly description?: string
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly summary?: string
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly eventDescription?: string
  /** a JSON object of at most 64 KiB and 32 levels */
  readonly meta?: { readonly [name: string]: unknown }
  /** an array with names of owner, description, summary, meta */
  readonly clear?: readonly ('owner' | 'description' | 'summary' | 'meta')[]
  readonly action?: 'update' | 'transfer'
  readonly actionType?: 'stolen' | 'repair' | 'custom' | 'change'
  readonly stolen?: boolean
}

/** a string of 1 to 128 characters without control characters (but not . or ..) */
export type ExternalId = string

export interface FileDeletion {
  readonly txId: Hash
  readonly eventTimestamp: DateTime
  readonly blockNumber?: number
  readonly merkle?: {
    readonly batchId: Id
    readonly merkleRoot: Hash
    readonly leafIndex: number
    readonly treeSize: number
    readonly sendStatus: SendStatus
    readonly proof: readonly ProofItem[]
    /** The whole signed note (C2SP tlog-checkpoint) at treeSize */
    readonly checkpoint: string
    readonly anchor?: {
      readonly type: string
      readonly network: string
      /** 0 if the chain has none */
      readonly chainId: number
      readonly txHash: string
      readonly blockNumber: number
      readonly blockHash: string
      readonly blockTime: DateTime
      readonly confirmations: number
      readonly treeSize: number
      readonly merkleRoot: Hash
      readonly checkpoint: string
      readonly consistency: readonly Hash[]
    }
  }
  readonly tsa?: {
    readonly authority: string
    readonly genTime: DateTime
    readonly serialNumber: string
    readonly policy: string
    readonly hashAlgorithm: string
    readonly imprint: string
    /** The whole RFC 3161 TimeStampResp, base64 */
    readonly token: string
    readonly treeSize: number
    readonly checkpoint: string
    readonly consistency: readonly Hash[]
    /** Only in tsas: certificates, CRLs and OCSP responses (DER, base64), kept for later checks of the token */
    readonly evidence?: readonly {
      readonly type: 'certificate' | 'crl' | 'ocsp'
      readonly data: string
    }[]
  }
  /**
   * Every token over the same checkpoint as tsa, which is the token by which a quorum of authorities vouches for
   * the time
   */
  readonly tsas?: readonly TsaProof[]
  readonly opening: string
  readonly filesText: string
  readonly filesSalt: Hash
  /** The file's entry in that event. It holds the file's id and the txId of the event that attached it */
  readonly file: {
    readonly text: string
    readonly salt: Hash
  }
}

export interface FileEntry {
  readonly name: string
  readonly overlayId: Id
  readonly mimeType: string
  readonly title: string
  /** a UUID in lowercase */
  readonly iconId?: string
  /** Version of the event that attached it, 0 for files of categories */
  readonly eventId: number
}

export interface FileListing {
  readonly dt: readonly FileEntry[]
  readonly category: readonly FileEntry[]
  readonly subcategory: readonly FileEntry[]
}

export type FileProof = {
  readonly status: 'ok'
  readonly fileId: string
  readonly evidenceId: string
  readonly txId: Hash
  readonly eventTimestamp: DateTime
  readonly filesText: string
  readonly filesSalt: Hash
  readonly opening: string
  readonly assurance: AssuranceNote
  readonly merkle: EventMerkleProof
  readonly blockNumber?: number
  readonly tsa?: {
    readonly authority: string
    readonly genTime: DateTime
    readonly serialNumber: string
    readonly policy: string
    readonly hashAlgorithm: string
    readonly imprint: string
    /** The whole RFC 3161 TimeStampResp, base64 */
    readonly token: string
    readonly treeSize: number
    readonly checkpoint: string
    readonly consistency: readonly Hash[]
    /** Only in tsas: certificates, CRLs and OCSP responses (DER, base64), kept for later checks of the token */
    readonly evidence?: readonly {
      readonly type: 'certificate' | 'crl' | 'ocsp'
      readonly data: string
    }[]
  }
  /**
   * Every token over the same checkpoint as tsa, which is the token by which a quorum of authorities vouches for
   * the time
   */
  readonly tsas?: readonly TsaProof[]
} | {
  readonly status: 'pending'
  readonly fileId: string
  readonly evidenceId: string
  readonly txId: Hash
  readonly eventTimestamp: DateTime
  readonly filesText: string
  readonly filesSalt: Hash
  readonly opening: string
  readonly assurance: AssuranceNote
} | {
  readonly status: 'deleted'
  readonly fileId: string
  readonly evidenceId: string
  readonly txId: Hash
  readonly eventTimestamp: DateTime
  readonly filesText: string
  readonly filesSalt: Hash
  readonly opening: string
  readonly assurance: AssuranceNote
  readonly merkle?: {
    readonly batchId: Id
    readonly merkleRoot: Hash
    readonly leafIndex: number
    readonly treeSize: number
    readonly sendStatus: SendStatus
    readonly proof: readonly ProofItem[]
    /** The whole signed note (C2SP tlog-checkpoint) at treeSize */
    readonly checkpoint: string
    readonly anchor?: {
      readonly type: string
      readonly network: string
      /** 0 if the chain has none */
      readonly chainId: number
      readonly txHash: string
      readonly blockNumber: number
      readonly blockHash: string
      readonly blockTime: DateTime
      readonly confirmations: number
      readonly treeSize: number
      readonly merkleRoot: Hash
      readonly checkpoint: string
      readonly consistency: readonly Hash[]
    }
  }
  readonly blockNumber?: number
  readonly tsa?: {
    readonly authority: string
    readonly genTime: DateTime
    readonly serialNumber: string
    readonly policy: string
    readonly hashAlgorithm: string
    readonly imprint: string
    /** The whole RFC 3161 TimeStampResp, base64 */
    readonly token: string
    readonly treeSize: number
    readonly checkpoint: string
    readonly consistency: readonly Hash[]
    /** Only in tsas: certificates, CRLs and OCSP responses (DER, base64), kept for later checks of the token */
    readonly evidence?: readonly {
      readonly type: 'certificate' | 'crl' | 'ocsp'
      readonly data: string
    }[]
  }
  /**
   * Every token over the same checkpoint as tsa, which is the token by which a quorum of authorities vouches for
   * the time
   */
  readonly tsas?: readonly TsaProof[]
  readonly deletion: FileDeletion
}

export interface FileProofAmbiguous {
  readonly status: 'ambiguous'
  readonly fileId: string
  readonly evidenceId: string
  readonly error: string
  readonly code: string
  /** The evidences that the external id can mean, oldest first: their internal ids */
  readonly candidates: readonly EvidenceCandidate[]
}

export interface FileProofNotFound {
  readonly status: 'not_found'
  readonly fileId: string
  readonly evidenceId: string
  readonly error: string
  readonly code: string
}

export interface FileToken {
  readonly token: string
  readonly expiresAt: DateTime
}

/** a SHA-256 hash of 64 lowercase hex digits */
export type Hash = string

/** a UUID in lowercase */
export type Id = string

/** a UUID */
export type IdInput = string

/** Without imageId if there is no image */
export interface ImageChanged {
  /** a UUID in lowercase */
  readonly imageId?: string
}

/** {name?, mimeType, data} with data in base64, at most 5 MiB */
export interface InlineImage {
  readonly name?: string
  readonly mimeType: string
  readonly data: Base64
}

export interface LogBatch {
  readonly batchId: Id
  /** Entries of the batch */
  readonly txidCount: number
  /** Entries of the log at the end of the batch */
  readonly treeSize: number
  readonly merkleRoot: Hash
  readonly createdAt: DateTime
  readonly sendStatus: SendStatus
  /** The first stamp that covers it */
  readonly tsa?: {
    readonly authority: string
    readonly genTime: DateTime
  }
  /** Of the confirmed anchors that cover it, the one in the lowest block */
  readonly anchor?: {
    readonly network: string
    readonly txHash: string
    readonly blockNumber: Count
    readonly blockTime: DateTime
  }
}

export interface LogPolicy {
  readonly origin: string
  /** Every checkpoint key, oldest first */
  readonly keys: readonly {
    /** C2SP verifier key */
    readonly vkey: string
    /** The smallest tree size that the key signs */
    readonly from: number
    /** The largest tree size that it signs; null: it is the newest key */
    readonly until: number | null
  }[]
  readonly witnesses: readonly {
    /** Local to this policy */
    readonly name: string
    /** C2SP verifier key */
    readonly vkey: string
    /** Submission prefix */
    readonly url?: string
  }[]
  readonly groups: readonly {
    readonly name: string
    readonly threshold: 'all' | 'any' | number
    readonly members: readonly string[]
  }[]
  /** The witness or group that must have cosigned a checkpoint, or none */
  readonly quorum: string
  readonly timestampAuthorities: readonly {
    readonly name: string
    readonly trustAnchors: readonly string[]
  }[]
  /** How many of them must have stamped a checkpoint */
  readonly timestampQuorum: number
  readonly chains: readonly {
    readonly type: string
    readonly network: string
    readonly chainId: number
    /** evm: the sender's address. local: the ledger's Ed25519 public key in hex */
    readonly account: string
  }[]
  /** Free for other programs. Nothing in it is verified */
  readonly extensions?: { readonly [name: string]: unknown }
}

export type MerkleProof = {
  readonly status: 'ok'
  readonly txId: string
  readonly merkleRoot: Hash
  readonly leafIndex: number
  readonly proof: readonly ProofItem[]
  readonly treeSize: number
  readonly batchId: Id
  readonly sendStatus: SendStatus
  readonly checkpoint: string
  readonly opening: string
  readonly assurance: AssuranceNote
} | {
  readonly status: 'pending'
  readonly txId: string
  readonly opening: string
  readonly assurance: AssuranceNote
}

export interface MerkleProofNotFound {
  readonly status: 'not_found'
  readonly txId: string
  readonly error: string
  readonly code: string
}

export type MerkleRoot = {
  readonly status: 'ok'
  readonly merkleRoot: Hash
  readonly txidCount: number
  readonly sendStatus: SendStatus
  readonly treeDepth: number
  readonly createdAt: DateTime
  /** a time in RFC 3339, UTC, with milliseconds */
  readonly tsaGenTime?: string
  readonly tsaSerial?: string
  readonly tsaPolicy?: string
  readonly batchId: Id
} | {
  readonly status: 'pending'
}

export interface MerkleRootNotFound {
  readonly status: 'not_found'
  readonly error: string
  readonly code: string
}

export type MerkleValidation = {
  readonly status: 'ok'
  readonly valid: true
  readonly computedRoot: Hash
  readonly expectedRoot: Hash
  readonly txIdKnown: boolean
  readonly rootKnown: boolean
  /** P pending, S sent, C confirmed */
  readonly sendStatus?: 'P' | 'S' | 'C'
} | {
  readonly status: 'ok'
  readonly valid: false
  /** a SHA-256 hash of 64 lowercase hex digits */
  readonly computedRoot?: string
  readonly expectedRoot: Hash
  readonly txIdKnown: boolean
  readonly rootKnown: boolean
  /** P pending, S sent, C confirmed */
  readonly sendStatus?: 'P' | 'S' | 'C'
  readonly error: string
  readonly code: string
} | {
  readonly status: 'unknown_root'
  /** The path leads to the root, but this log never sealed it */
  readonly valid: boolean
  /** a SHA-256 hash of 64 lowercase hex digits */
  readonly computedRoot?: string
  readonly expectedRoot: Hash
  readonly txIdKnown: boolean
  readonly rootKnown: boolean
  /** P pending, S sent, C confirmed */
  readonly sendStatus?: 'P' | 'S' | 'C'
  readonly error: string
  readonly code: string
} | {
  readonly status: 'pending' | 'not_found'
  readonly valid: false
  readonly expectedRoot: Hash
  readonly txIdKnown: boolean
  readonly rootKnown: boolean
  /** P pending, S sent, C confirmed */
  readonly sendStatus?: 'P' | 'S' | 'C'
  readonly error: string
  readonly code: string
}

export interface MerkleValidationRequest {
  /** 64 hex digits in either case, with or without 0x */
  readonly txId: string
  /** 64 hex digits in either case, with or without 0x */
  readonly merkleRoot: string
  readonly proof: readonly {
    /** 64 hex digits in either case, with or without 0x */
    readonly hash: string
    readonly position?: 'left' | 'right'
  }[]
}

/** a string of 1 to 256 characters without control characters */
export type Name = string

export interface NewEvidence {
  /** a string of 1 to 256 characters without / and control characters */
  readonly categoryName?: string
  readonly categoryId?: string
  /** a string of 1 to 256 characters without / and control characters */
  readonly subcategoryName?: string
  readonly subcategoryId?: string
  readonly externalId: ExternalId
  readonly name: Name
  /** a string of at most 256 characters without control characters */
  readonly owner?: string
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly description?: string
  /** a string of at most 8,192 characters without control characters except tab, LF and CR */
  readonly summary?: string
  /** a JSON object of at most 64 KiB and 32 levels */
  readonly meta?: { readonly [name: string]: unknown }
}

export interface NewSourceSystem {
  readonly name: Name
  /** a string of 16 to 1,024 printable ASCII characters without spaces */
  readonly apiKey?: string
  /** R reads; I also creates; U also updates; A also manages source systems */
  readonly permissions?: 'I' | 'U' | 'R' | 'A'
  /** a time in RFC 3339, such as 2027-01-31T12:00:00Z */
  readonly expiresAt?: string
}

export interface Ok {
  readonly status: 'ok'
}

export interface OpenApi {
  readonly openapi: string
}

/** Every other failure */
export interface OperationError {
  /** For people; may change */
  readonly error: string
  /** Stable */
  readonly code: string
}

/** The operator key has the name `operator` and no id */
export interface OwnSourceSystem {
  /** a UUID in lowercase */
  readonly id?: string
  readonly name: Name
  readonly permissions: Permission
  /** a time in RFC 3339, UTC, with milliseconds */
  readonly expiresAt?: string
}

/** R reads; I also creates; U also updates; A also manages source systems */
export type Permission = 'I' | 'U' | 'R' | 'A'

export interface ProofItem {
  readonly hash: Hash
  /** The side of the sibling */
  readonly position: 'left' | 'right'
}

export interface Readiness {
  readonly status: 'ok' | 'unavailable'
  readonly reason?: string
  readonly writes?: 'READ_ONLY'
  readonly differences?: number
}

export interface RecordedEvent {
  readonly txId: Hash
  readonly version: Version
}

/** P pending, S sent, C confirmed */
export type SendStatus = 'P' | 'S' | 'C'

export interface SourceSystem {
  readonly id: Id
  readonly name: Name
  readonly permissions: Permission
  readonly active: boolean
  readonly createdAt: DateTime
  /** a time in RFC 3339, UTC, with milliseconds */
  readonly expiresAt?: string
  /** a time in RFC 3339, UTC, with milliseconds */
  readonly replacedKeyEndsAt?: string
  /** a time in RFC 3339, UTC, with milliseconds */
  readonly lastUsedAt?: string
}

export interface SourceSystemChange {
  /** a string of 1 to 256 characters without control characters */
  readonly name?: string
  /** a string of 16 to 1,024 printable ASCII characters without spaces */
  readonly apiKey?: string
  /** an integer of 0 to 604800 */
  readonly graceSeconds?: number
  /** R reads; I also creates; U also updates; A also manages source systems */
  readonly permissions?: 'I' | 'U' | 'R' | 'A'
  readonly active?: boolean
  /** a time in RFC 3339, such as 2027-01-31T12:00:00Z */
  readonly expiresAt?: string
}

export interface SourceSystemList {
  readonly sourceSystems: readonly SourceSystem[]
  readonly count: Count
}

export interface TokenRequest {
  readonly fileId: IdInput
}

export interface TsaProof {
  readonly authority: string
  readonly genTime: DateTime
  readonly serialNumber: string
  readonly policy: string
  readonly hashAlgorithm: string
  readonly imprint: string
  /** The whole RFC 3161 TimeStampResp, base64 */
  readonly token: string
  readonly treeSize: number
  readonly checkpoint: string
  readonly consistency: readonly Hash[]
  /** Only in tsas: certificates, CRLs and OCSP responses (DER, base64), kept for later checks of the token */
  readonly evidence?: readonly {
    readonly type: 'certificate' | 'crl' | 'ocsp'
    readonly data: string
  }[]
}

export interface UpdatedEvidence {
  readonly status: 'ok'
  readonly events: readonly RecordedEvent[]
}

/** A failure of a verification endpoint */
export interface VerificationError {
  /** error says nothing about the requested proof */
  readonly status: 'invalid' | 'not_found' | 'ambiguous' | 'error'
  readonly error: string
  readonly code: string
}

export type Version = number
