import { decodeUtf8 } from '../bytes.ts'
import { EXPORT_FORMAT, MAX_BUNDLE_LENGTH } from '../commitment/bundle-format.ts'
import { isRegistryError, verificationError } from '../errors.ts'
import type { VerificationRule } from '../rules.ts'
import { isOfLog, verifyBundle } from './bundle.ts'
import { isLocalTimeOnly, type BundleResult, type Unchecked } from './claims.ts'
import type { VerifyBundleOptions } from './run.ts'
import {
  asCount,
  asDocument,
  asObject,
  assertNotNewer,
  asString,
  parseUntrustedJson,
  withoutBom,
  type UntrustedObject,
} from './untrusted.ts'

/**
 * As of a bundle, and of the file: `incomplete` without its last line, `changed` if it is not the text that the
 * registry wrote, although no line contradicts, `unreadable` if it is not an export, or has lines that are none.
 */
export type ExportState = BundleResult['state'] | 'incomplete' | 'changed'

/** A line that breaks a rule, or whose evidence is not proven. */
export interface ExportFinding {
  /** 1, 2, … */
  readonly line: number
  readonly state: ExportState
  readonly reason: string
  readonly rule: VerificationRule | undefined
}

/** What an export proves. */
export interface ExportResult {
  /**
   * The worst of all lines. An evidence for which the registry could make no bundle counts as `requirement`, as does an
   * export of no evidence.
   */
  readonly state: ExportState
  /** The last line that was verified, if so many before it are wrong or unreadable that the others were not. */
  readonly stoppedAt: number | undefined
  /** What the first line says; `undefined` if it is not that of an export. */
  readonly head: ExportHead | undefined
  /** As in the last line, but counted. `unsealed`: evidences of which an event is not sealed yet. */
  readonly counts: Readonly<Record<'evidences' | 'events' | 'unsealed' | 'withoutBundle', number>>
  /** Events in signed trees that count. */
  readonly sealedEvents: number
  /** ms since 1970: all of them existed not later; `undefined` if one of them has no proven time. */
  readonly notLaterThan: number | undefined
  /** Whether the time of one of them is only the operator's own, which proves none to others. */
  readonly isLocalTime: boolean
  /** How many findings there are, and the first of them. */
  readonly found: number
  readonly findings: readonly ExportFinding[]
  /** The first ones. */
  readonly unchecked: readonly Unchecked[]
}

type ExportHead = Readonly<Record<'company' | 'origin' | 'exportedAt', string>>

/** The worst first. */
const STATES = [
  'refuted',
  'unreadable',
  'incomplete',
  'changed',
  'other-log',
  'newer-key',
  'retired-key',
  'requirement',
  'pending',
] as const
/** In these states, what is in the lines holds. */
const HOLDING: ReadonlySet<ExportState> = new Set(['requirement', 'pending'])
/** The members of the lines. */
const HEAD = ['format', 'company', 'origin', 'treeSize', 'exportedAt', 'counts']
const EVIDENCE = ['n', 'bundle', 'id', 'externalId', 'error']
const END = ['end', 'counts', 'sha256']
/** What breaks these rules contradicts nothing. */
const UNREADABLE: ReadonlySet<VerificationRule> = new Set([
  'form.json',
  'form.value',
  'form.members',
  'form.length',
  'document.newer',
])
const MAX_KEPT = 20
/** After so many lines that are refuted or unreadable, the others change nothing and would only cost time. */
const MAX_WRONG = 100
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
  /** No line is longer: a character of a bundle has at most 3 bytes in UTF-8. */
  static readonly MAX_LINE_BYTES = 3 * MAX_BUNDLE_LENGTH
  readonly #options: VerifyBundleOptions
  readonly #states = new Set<ExportState>()
  readonly #findings: ExportFinding[] = []
  readonly #unchecked = new Map<string, Unchecked>()
  readonly #counts = { evidences: 0, events: 0, unsealed: 0, withoutBundle: 0 }
  #found = 0
  #wrong = 0
  #line = 0
  #isDone = false
  /** Whether the text differs from what the registry writes, apart from a line that contradicts. */
  #isChanged = false
  /** Whether an empty line came last. */
  #isBlank = false
  /** How many lines could not be read since the last evidence. */
  #unread = 0
  /** A line that is not JSON. It may be the last one, cut off. */
  #torn: (() => void) | undefined
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
  #isLocalTime = false

  constructor(options: Pick<VerifyBundleOptions, 'policy' | 'tokens' | 'mlDsa44' | 'require'> = {}) {
    this.#options = { ...options, memory: new Map() }
  }

  /** Whether further lines change nothing: the first one is not that of an export, or too many lines are wrong. */
  get isDone(): boolean {
    return this.#isDone
  }

  /** The next line, without its line feed, also with a carriage return at its end. Untrusted: any text or bytes. */
  add(untrusted: string | Uint8Array): void {
    if (this.#isDone) return
    this.#line++
    const text = typeof untrusted === 'string' ? untrusted : textOf(untrusted)
    const line = text?.endsWith('\r') === true ? text.slice(0, -1) : text
    if (line === '') return void (this.#isBlank = true)
    this.#torn?.()
    this.#torn = undefined
    this.#isChanged ||= this.#isBlank
    this.#isBlank = false
    if (this.#head === undefined) return this.#readHead(line)
    this.#findIfThrows(() => this.#addLine(asText(line)))
  }

  /**
   * @param sha256 - of all lines before the last one with their line feeds, hex. A byte order mark at the beginning,
   *   a carriage return before a line feed, and empty lines are left out
   */
  end(sha256: string): ExportResult {
    if (!this.#isDone) this.#findIfThrows(() => this.#readEnd(sha256))
    const best = this.#options.policy === undefined ? 'consistent' : 'proven'
    return {
      state: STATES.find((state) => this.#states.has(state)) ?? best,
      stoppedAt: this.#isDone ? this.#line : undefined,
      head: this.#head,
      counts: this.#counts,
      sealedEvents: this.#sealedEvents,
      notLaterThan: Number.isFinite(this.#notLaterThan) && this.#sealedEvents > 0 ? this.#notLaterThan : undefined,
      isLocalTime: this.#isLocalTime,
      found: this.#found,
      findings: this.#findings,
      unchecked: [...this.#unchecked.values()],
    }
  }

  #findIfThrows(step: () => void): void {
    try {
      step()
    } catch (error) {
      if (!isRegistryError(error)) throw error
      const { message, rule } = error
      const line = this.#line
      const isReadable = rule === undefined || !UNREADABLE.has(rule)
      if (!isReadable) this.#unread++
      if (rule === 'form.json') this.#torn = () => this.#find('unreadable', message, rule, line)
      else this.#find(isReadable ? 'refuted' : 'unreadable', message, rule)
    }
  }

  #find(state: ExportState, reason: string, rule?: VerificationRule, line = this.#line): void {
    this.#found++
    this.#states.add(state)
    if (state === 'refuted' || state === 'unreadable') this.#isDone ||= ++this.#wrong >= MAX_WRONG
    const isOfFile = state === 'incomplete' || state === 'changed'
    if (isOfFile || this.#findings.length < MAX_KEPT) this.#findings.push({ line, state, reason, rule })
  }

  /** Without it, nothing is known about the other lines. */
  #readHead(line: string | undefined): void {
    try {
      this.#head = this.#headOf(parseUntrustedJson(withoutBom(asText(line)), 'The first line'))
      const { policy } = this.#options
      if (policy !== undefined && !isOfLog(policy, this.#head.origin))
        this.#find('other-log', `The policy pins no key of the log ${this.#head.origin}`, 'keys.not-pinned')
    } catch (error) {
      if (!isRegistryError(error)) throw error
      this.#find('unreadable', error.message, error.rule)
      this.#isDone = true
    }
  }

  #headOf(head: unknown): ExportHead {
    const { counts, company, origin, exportedAt } = asDocument(head, EXPORT_FORMAT, HEAD, 'The first line')
    this.#least = asCount(asObject(counts, 'counts')['evidences'], 'evidences')
    return {
      company: asString(company, 'company'),
      origin: asString(origin, 'origin'),
      exportedAt: asString(exportedAt, 'exportedAt'),
    }
  }

  #readEnd(sha256: string): void {
    const { evidences } = this.#counts
    if (this.#end === undefined) {
      const holds = [...this.#states].every((state) => HOLDING.has(state)) ? ', all that are there hold' : ''
      const whole = Math.max(evidences, this.#least)
      return this.#find('incomplete', `${evidences} of ${whole} evidences${holds}`, 'export.cut-off')
    }
    // What could not be read, cannot be counted.
    if (this.#states.has('unreadable')) return
    const { counts, sha256: stated } = this.#end
    const counted = Object.entries(this.#hasAllClaims ? this.#counts : { evidences })
    const told = asObject(counts, 'counts')
    if (counted.filter(([name, count]) => asCount(told[name], name) !== count).length > 0 || evidences < this.#least)
      throw verificationError('export.count', 'The first or the last line counts other lines')
    if (evidences === 0) this.#find('requirement', 'It has no evidence, so nothing in it is signed')
    if (this.#isChanged || stated !== sha256)
      this.#find('changed', 'not the text that the registry wrote', 'export.changed')
  }

  #addLine(line: string): void {
    const [, number, bundle] = BUNDLE_LINE.exec(line) ?? []
    const other = bundle === undefined ? asObject(parseUntrustedJson(line, 'The line'), 'The line') : {}
    // What a program put behind the last line, and is not a line of an export, contradicts nothing.
    if (this.#end !== undefined) throw verificationError('export.order', 'It comes after the last line')
    if (bundle !== undefined) return this.#addBundle(Number(number), bundle)
    assertNotNewer(other, 'end' in other ? END : EVIDENCE, 'The export')
    if (other['end'] === true) return void (this.#end = other)
    if (other['bundle'] === undefined) return this.#addWithoutBundle(other)
    this.#isChanged = true
    this.#addBundle(asCount(other['n'], 'n'), JSON.stringify(other['bundle']))
  }

  #addBundle(number: number, bundle: string): void {
    this.#counts.evidences++
    const result = verifyBundle(bundle, this.#options)
    if ('claims' in result) return this.#addClaims(result, number)
    this.#hasAllClaims = false
    this.#find(result.state, result.reason, result.rule)
    this.#assertNext(number)
  }

  /** A line that says why the registry could make no bundle. */
  #addWithoutBundle(line: UntrustedObject): void {
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
    this.#isLocalTime ||= sealed.some(isLocalTimeOnly)
    for (const one of result.unchecked)
      if (this.#unchecked.size < MAX_KEPT) this.#unchecked.set(`${one.what}: ${one.why}`, one)
    const [id, externalId, company] = ['evidence', 'externalId', 'company'].map((field) => events[0]?.fields.get(field))
    if (typeof id !== 'string')
      throw verificationError('export.subject', 'It does not disclose of which evidence it is')
    // An erased external id is not disclosed.
    const name = typeof externalId === 'string' ? externalId : id
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
    const isKnownGap = number <= expected + this.#unread
    this.#unread = 0
    if (!isKnownGap) throw verificationError('export.order', `Evidence ${expected} is missing before it`)
  }
}

/** `undefined` if the line is not UTF-8 or longer than any bundle. */
function textOf(line: Uint8Array): string | undefined {
  if (line.length > ExportVerifier.MAX_LINE_BYTES) return undefined
  try {
    return decodeUtf8(line)
  } catch {
    return undefined
  }
}

function asText(line: string | undefined): string {
  if (line !== undefined) return line
  throw verificationError('form.json', 'The line is not text in UTF-8, or longer than any bundle')
}
