import { EXPORT_FORMAT } from '../commitment/bundle-format.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import type { VerificationRule } from '../rules.ts'
import { verifyBundle, type VerifyBundleOptions } from './bundle.ts'
import type { BundleResult, Unchecked } from './claims.ts'
import {
  asCount,
  asObject,
  asString,
  parseUntrustedJson,
  VerifierMemory,
  withoutBom,
  type UntrustedObject,
} from './untrusted.ts'

/** A line that breaks a rule, or whose evidence is not proven. */
export interface ExportFinding {
  /** 1, 2, … */
  readonly line: number
  readonly state: BundleResult['state']
  readonly reason: string
  readonly rule?: VerificationRule
}

/** What an export proves. */
export interface ExportResult {
  /** The worst of all lines. An evidence for which the registry could make no bundle counts as `requirement`. */
  readonly state: BundleResult['state']
  /** What the first line says; `undefined` if it is not that of an export. */
  readonly head: ExportHead | undefined
  /** As in the last line, but counted. `unsealed`: evidences of which an event is not sealed yet. */
  readonly counts: {
    readonly evidences: number
    readonly events: number
    readonly unsealed: number
    readonly withoutBundle: number
  }
  /** Events in signed trees that count. */
  readonly sealedEvents: number
  /** ms since 1970: all of them existed not later; `undefined` if one of them has no proven time. */
  readonly notLaterThan: number | undefined
  /** How many findings there are, and the first of them. */
  readonly found: number
  readonly findings: readonly ExportFinding[]
  /** The first ones. */
  readonly unchecked: readonly Unchecked[]
}

interface ExportHead {
  readonly company: string
  readonly origin: string
  readonly exportedAt: string
  readonly treeSize: number
  /** How many evidences the company had at least. */
  readonly evidences: number
}

/** The worst first. */
const STATES = ['refuted', 'other-log', 'retired-key', 'requirement', 'pending'] as const
const MAX_KEPT = 20
/** As the registry writes it. The rest of the line is the bundle, whose form is checked with it. */
const BUNDLE_LINE = /^\{"n":([1-9]\d{0,14}),"bundle":(\{.*\})\}$/s

/**
 * Verifies the lines of an export, one after the other, in bounded memory: each bundle by itself, that they are of one
 * company and one log, and that no line is missing, comes twice or in another order.
 *
 * @example
 * const verifier = new ExportVerifier({ policy, tokens })
 * for (const line of lines) verifier.add(line)
 * const { state, counts } = verifier.end(sha256OfAllBeforeTheLastLine)
 */
export class ExportVerifier {
  readonly #options: VerifyBundleOptions
  readonly #states = new Set<BundleResult['state']>()
  readonly #findings: ExportFinding[] = []
  readonly #unchecked = new Map<string, Unchecked>()
  readonly #counts = { evidences: 0, events: 0, unsealed: 0, withoutBundle: 0 }
  #found = 0
  #line = 0
  #head: ExportHead | undefined
  #end: ExportEnd | undefined
  /** Whether the events of all bundles could be counted. */
  #hasAllClaims = true
  /** Number and id of the last evidence. */
  #number = 0
  #evidence = ''
  #sealedEvents = 0
  #notLaterThan = 0

  constructor(options: Pick<VerifyBundleOptions, 'policy' | 'tokens' | 'require'> = {}) {
    this.#options = { ...options, memory: new VerifierMemory() }
  }

  /** The next line, without its line feed. Untrusted. */
  add(line: string): void {
    this.#line++
    this.#refuteIfThrows(() => {
      if (this.#line === 1) this.#head = headOf(line)
      else if (this.#end !== undefined) throw verificationError('export.order', 'It comes after the last line')
      else if (line.startsWith('{"n":')) this.#addEvidence(line)
      else this.#end = endOf(line)
    })
  }

  /** @param sha256 - of all bytes before the last line, hex */
  end(sha256: string): ExportResult {
    this.#refuteIfThrows(() => {
      if (this.#end === undefined)
        throw verificationError('export.cut-off', 'The export is cut off: its last line is missing')
      const { evidences } = this.#counts
      const expected = this.#hasAllClaims ? this.#counts : { ...this.#end.counts, evidences }
      if (evidences < (this.#head?.evidences ?? 0) || JSON.stringify(this.#end.counts) !== JSON.stringify(expected))
        throw verificationError('export.count', 'The first or the last line counts other lines')
      if (this.#end.sha256 !== sha256)
        throw verificationError('export.changed', 'The lines do not have the hash in the last line')
    })
    const best = this.#options.policy === undefined ? 'consistent' : 'proven'
    return {
      state: STATES.find((state) => this.#states.has(state)) ?? best,
      head: this.#head,
      counts: this.#counts,
      sealedEvents: this.#sealedEvents,
      notLaterThan: Number.isFinite(this.#notLaterThan) && this.#sealedEvents > 0 ? this.#notLaterThan : undefined,
      found: this.#found,
      findings: this.#findings,
      unchecked: [...this.#unchecked.values()],
    }
  }

  #refuteIfThrows(step: () => void): void {
    try {
      step()
    } catch (error) {
      if (!isRegistryError(error)) throw error
      this.#find('refuted', error.message, error.rule)
    }
  }

  #find(state: BundleResult['state'], reason: string, rule?: VerificationRule): void {
    this.#found++
    this.#states.add(state)
    if (this.#findings.length < MAX_KEPT)
      this.#findings.push({ line: this.#line, state, reason, ...(rule && { rule }) })
  }

  #addEvidence(line: string): void {
    this.#counts.evidences++
    const [, number, bundle] = BUNDLE_LINE.exec(line) ?? []
    if (bundle === undefined) return this.#addGap(asObject(parseUntrustedJson(line, 'The line'), 'The line'))
    const result = verifyBundle(bundle, this.#options)
    if ('claims' in result) this.#addClaims(result)
    else {
      this.#hasAllClaims = false
      this.#find(result.state, result.reason, result.rule)
    }
    this.#assertNext(Number(number))
  }

  /** The registry could make no bundle, and says why. */
  #addGap({ n, id, externalId, error }: UntrustedObject): void {
    this.#counts.withoutBundle++
    this.#find(
      'requirement',
      `There is no bundle of ${asString(externalId, 'externalId')}: ${asString(error, 'error')}`,
    )
    this.#assertLater(asString(id, 'id'))
    this.#assertNext(asCount(n, 'n'))
  }

  #addClaims(result: Extract<BundleResult, { readonly claims: unknown }>): void {
    const { events, origin, isHistory } = result.claims
    const sealed = events.filter(({ log }) => log !== undefined)
    this.#counts.events += events.length
    this.#sealedEvents += sealed.length
    this.#notLaterThan = Math.max(this.#notLaterThan, ...sealed.map(({ notLaterThan = Infinity }) => notLaterThan))
    for (const one of result.unchecked)
      if (this.#unchecked.size < MAX_KEPT) this.#unchecked.set(`${one.what}: ${one.why}`, one)
    const [id, name, company] = ['evidence', 'externalId', 'company'].map((field) =>
      asString(events[0]?.fields.get(field), `The field ${field}`),
    )
    if (sealed.length < events.length) {
      this.#counts.unsealed++
      this.#find('pending', `${name} has an event that is not sealed yet`)
    } else if ('reason' in result) this.#find(result.state, `${name}: ${result.reason}`)
    if (!isHistory || company !== this.#head?.company || origin !== this.#head?.origin)
      throw verificationError('export.subject', 'It is not a history of this company in this log')
    this.#assertLater(String(id))
  }

  /** The evidences are numbered without a gap. */
  #assertNext(number: number): void {
    const expected = this.#number + 1
    this.#number = number
    if (number > expected) throw verificationError('export.order', `Evidence ${expected} is missing before it`)
    if (number < expected) throw verificationError('export.order', `Evidence ${number} comes twice, or too late`)
  }

  /** Ids ascend, so none comes twice. */
  #assertLater(id: string): void {
    if (id <= this.#evidence) throw verificationError('export.order', `The evidence ${id} comes twice, or too late`)
    this.#evidence = id
  }
}

function headOf(line: string): ExportHead {
  const head = asObject(parseUntrustedJson(withoutBom(line), 'The first line'), 'The first line')
  if (head['format'] !== EXPORT_FORMAT || head['version'] !== 1)
    throw verificationError('document.format', `The first line must have the format ${EXPORT_FORMAT} and the version 1`)
  return {
    company: asString(head['company'], 'company'),
    origin: asString(head['origin'], 'origin'),
    exportedAt: asString(head['exportedAt'], 'exportedAt'),
    treeSize: asCount(head['treeSize'], 'treeSize'),
    evidences: asCount(asObject(head['counts'], 'counts')['evidences'], 'evidences'),
  }
}

interface ExportEnd {
  readonly counts: UntrustedObject
  readonly sha256: unknown
}

function endOf(line: string): ExportEnd {
  const { end, counts, sha256 } = asObject(parseUntrustedJson(line, 'The line'), 'The line')
  if (end !== true) throw verificationError('form.members', 'It is not a line of an export')
  return { counts: asObject(counts, 'counts'), sha256 }
}
