import { EXPORT_FORMAT } from '../commitment/bundle-format.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import type { VerificationRule } from '../rules.ts'
import { verifyBundle, type VerifyBundleOptions } from './bundle.ts'
import type { BundleResult, Unchecked } from './claims.ts'
import { asCount, asObject, asString, parseUntrustedJson, withoutBom, type UntrustedObject } from './untrusted.ts'

/** A line that breaks a rule, or whose evidence is not proven. */
export interface ExportFinding {
  /** 1, 2, … */
  readonly line: number
  readonly state: BundleResult['state']
  readonly reason: string
  readonly rule: VerificationRule | undefined
}

/** What an export proves. */
export interface ExportResult {
  /** The worst of all lines. An evidence for which the registry could make no bundle counts as `requirement`. */
  readonly state: BundleResult['state']
  /** What the first line says; `undefined` if it is not that of an export. */
  readonly head: ExportHead | undefined
  /** As in the last line, but counted. `unsealed`: evidences of which an event is not sealed yet. */
  readonly counts: Readonly<Record<'evidences' | 'events' | 'unsealed' | 'withoutBundle', number>>
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

type ExportHead = Readonly<Record<'company' | 'origin' | 'exportedAt', string>>

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
  /** How many evidences the company had when the export began. */
  #least = 0
  #end: UntrustedObject | undefined
  /** Whether the events of all bundles could be counted. */
  #hasAllClaims = true
  /** Number and id of the last evidence. */
  #number = 0
  #evidence = ''
  #sealedEvents = 0
  #notLaterThan = 0

  constructor(options: Pick<VerifyBundleOptions, 'policy' | 'tokens' | 'require'> = {}) {
    this.#options = { ...options, memory: new Map() }
  }

  /** The next line, without its line feed. Untrusted. */
  add(line: string): void {
    this.#line++
    this.#refuteIfThrows(() => {
      if (this.#line === 1) this.#readHead(asObject(parseUntrustedJson(withoutBom(line), 'The line'), 'The line'))
      else if (this.#end !== undefined) throw verificationError('export.order', 'It comes after the last line')
      else this.#addEvidence(line)
    })
  }

  /** @param sha256 - of all bytes before the last line, hex */
  end(sha256: string): ExportResult {
    this.#refuteIfThrows(() => {
      if (this.#end === undefined)
        throw verificationError('export.cut-off', 'The export is cut off: its last line is missing')
      const stated = asObject(this.#end['counts'], 'counts')
      const { evidences } = this.#counts
      const counted = this.#hasAllClaims ? this.#counts : { ...stated, evidences }
      if (evidences < this.#least || JSON.stringify(stated) !== JSON.stringify(counted))
        throw verificationError('export.count', 'The first or the last line counts other lines')
      if (this.#end['sha256'] !== sha256)
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
    if (this.#findings.length < MAX_KEPT) this.#findings.push({ line: this.#line, state, reason, rule })
  }

  #readHead({ format, version, counts, company, origin, exportedAt }: UntrustedObject): void {
    if (format !== EXPORT_FORMAT || version !== 1)
      throw verificationError('document.format', `It must have the format ${EXPORT_FORMAT} and the version 1`)
    this.#least = asCount(asObject(counts, 'counts')['evidences'], 'evidences')
    this.#head = {
      company: asString(company, 'company'),
      origin: asString(origin, 'origin'),
      exportedAt: asString(exportedAt, 'exportedAt'),
    }
  }

  #addEvidence(line: string): void {
    const [, number, bundle] = BUNDLE_LINE.exec(line) ?? []
    if (bundle === undefined) return this.#addOther(asObject(parseUntrustedJson(line, 'The line'), 'The line'))
    this.#counts.evidences++
    const result = verifyBundle(bundle, this.#options)
    if ('claims' in result) return this.#addClaims(result, Number(number))
    this.#hasAllClaims = false
    this.#find(result.state, result.reason, result.rule)
    this.#assertNext(Number(number))
  }

  /** The last line, or one that says why the registry could make no bundle. */
  #addOther(line: UntrustedObject): void {
    if (line['end'] === true) return void (this.#end = line)
    const [id, name, error] = ['id', 'externalId', 'error'].map((member) => asString(line[member], member))
    this.#counts.evidences++
    this.#counts.withoutBundle++
    this.#find('requirement', `There is no bundle of ${name}: ${error}`)
    this.#assertNext(asCount(line['n'], 'n'), id)
  }

  #addClaims(result: Extract<BundleResult, { readonly claims: unknown }>, number: number): void {
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
    this.#assertNext(number, id)
  }

  /** The evidences are numbered without a gap, and their ids ascend. Without claims, the id is not known. */
  #assertNext(number: number, id?: string): void {
    const expected = this.#number + 1
    const isAgain = number < expected || (id !== undefined && id <= this.#evidence)
    if (isAgain) throw verificationError('export.order', `Evidence ${number} comes twice, or too late`)
    this.#number = number
    this.#evidence = id ?? this.#evidence
    if (number > expected) throw verificationError('export.order', `Evidence ${expected} is missing before it`)
  }
}
