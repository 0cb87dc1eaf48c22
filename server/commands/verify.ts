import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import {
  BUNDLE_FORMAT,
  EXPORT_FORMAT,
  holdsTokens,
  isTlogProof,
  parsePolicy,
  verifyBundle,
  verifyTlogProof,
  type BundleResult,
  type ExportState,
  type Requirement,
  type VerificationRule,
  type VerifyBundleOptions,
} from '../../core/verify/index.ts'
import { networkReason } from '../client/network-reason.ts'
import { digestFile } from '../file-digest.ts'
import { loadMlDsa44 } from '../startup/ml-dsa.ts'
import { adviceOn, errorIn, isChanged, whyNoDocument } from '../verdict-advice.ts'
import type { CommandInput } from './command.ts'
import { originalAdvice } from './verify-advice.ts'
import { blocksOnChain, nameOf } from './verify-blocks.ts'
import { jsonReport, textReport } from './verify-report.ts'
import { parseFlags, UsageError } from './flags.ts'
import { printable, whyUnreadable } from './terminal.ts'

/**
 * `verify` loads only the verifier, so that it starts fast. It needs no registry, and the network only with --rpc.
 */

const COMMAND = {
  name: 'verify',
  description: `
Verifies a proof bundle or a C2SP tlog-proof, offline. Prints what is proven, by whom and when, what is disclosed,
and what was not checked. A policy is what you pin: the JSON of GET /log/policy, or C2SP tlog-policy text, from a
source that you trust. To compare files, a bundle needs their hashes: .../bundle?fields=all&files=all`,
  operand: 'FILE',
  flags: {
    export: {
      doc:
        'FILE is an export of a company: also fails if a line is missing, changed, twice or in another order, unless ' +
        'somebody also wrote its last line again',
    },
    file: { value: 'ORIGINAL', isMultiple: true, doc: 'is compared with the disclosed files: a second verdict' },
    policy: {
      value: 'FILE',
      doc: 'your policy; without it, only whether the bundle is consistent in itself is checked',
    },
    require: {
      value: 'timestamp,anchor,witnesses',
      isMultiple: true,
      doc: 'what every event must have: one or more of these; witnesses: a quorum of those of the policy',
    },
    rpc: {
      value: 'URL',
      isMultiple: true,
      doc: "a node of an EVM chain, to ask whether the anchors' blocks are part of the chain",
    },
    json: { doc: 'print the result as JSON' },
  },
} as const

const CODES_TEXT =
  '0 proven; 1 refuted; 2 wrong use, a file or node that cannot be read, an output that cannot be written, or a file ' +
  'that is cut off, changed, beyond a limit, or of a newer version; 3 consistent, but no keys are pinned; 4 an event ' +
  'is not sealed yet; 5 signed by a retired key: ask for a new proof, or by a newer key than the policy: fetch the ' +
  'newer policy; 6 of another log than the policy; 7 a file of --file is not in this proof, or cannot be compared, ' +
  'because the proof discloses no hash of it: this says nothing about the record, and comes before 3, 4 and 8; 8 ' +
  'something in --require is missing, or the quorum of witnesses of a policy in C2SP text'

const EXIT_USAGE = 2
const EXIT_FILE = 7
/** By the state of the bundle, so that a script need not read the text. */
const EXIT_CODES: Readonly<Record<ExportState, number>> = {
  proven: 0,
  refuted: 1,
  consistent: 3,
  pending: 4,
  'retired-key': 5,
  'newer-key': 5,
  'other-log': 6,
  requirement: 8,
  unreadable: EXIT_USAGE,
  incomplete: EXIT_USAGE,
  changed: EXIT_USAGE,
}

/** `evidence-registry verify`. */
export async function verifyCommand({ args }: Pick<CommandInput, 'args'>): Promise<number> {
  try {
    const parsed = parseFlags(COMMAND, args, CODES_TEXT)
    if (parsed === undefined) return 0
    const { operand: path, values } = parsed
    const { file: originals = [], policy, require: required = [], rpc = [], json = false, export: isExport } = values
    const require = required.flatMap((names) => names.split(','))
    // `fetch` refuses a password in it, and prints it.
    if (!rpc.every((url) => /^https?:/i.test(url) && URL.canParse(url) && new URL(url).username === ''))
      throw new UsageError('--rpc must be an http or https URL without a user')
    if (!require.every(isRequirable)) throw new UsageError('--require must be timestamp, anchor or witnesses')
    const pinned = policy === undefined ? {} : { policy: await readPolicy(policy) }
    if (isExport) {
      if (rpc.length > 0 || originals.length > 0) throw new UsageError('--export takes neither --file nor --rpc')
      const { exportReport, verifyExportFile } = await import('./verify-export.ts')
      const exported = await verifyExportFile(path, { ...pinned, require, mlDsa44: await mlDsa44For(pinned) })
      process.stdout.write(json ? jsonReport(exported) : exportReport(basename(path), exported))
      return EXIT_CODES[exported.state]
    }
    const text = await readText(path)
    const tokens = holdsTokens(text) ? (await import('../../core/verify/tokens.ts')).tokens : undefined
    const contents = await Promise.all(originals.map(digestOf))
    const options = { contents, require, ...pinned, tokens, mlDsa44: await mlDsa44For(pinned, text) }
    const result = isTlogProof(text) ? textResult(path, text, options) : await verifyWithNodes(text, options, rpc)
    if (result.state === 'unreadable') throw whyNoBundle(path, text, result)
    const isFileMissing = 'claims' in result && result.file !== undefined && result.file !== 'matches'
    const advice = isFileMissing ? originalAdvice(result.claims) : adviceOn(result)
    process.stdout.write(json ? jsonReport(result, advice) : textReport(basename(path), result, advice))
    // A user who accepts that something is missing must not take another file for the right one.
    return isFileMissing ? EXIT_FILE : EXIT_CODES[result.state]
  } catch (error) {
    const isUse = error instanceof UsageError
    const reason = isUse ? error.message : `the verifier failed, report it: ${printable(String(error))}`
    process.stderr.write(`evidence-registry verify: ${reason}\n`)
    return EXIT_USAGE
  }
}

const REQUIREMENTS: ReadonlySet<string> = new Set<Requirement>(['timestamp', 'anchor', 'witnesses'])
const isRequirable = (name: string): name is Requirement => REQUIREMENTS.has(name)

/** It holds no keys, so without a policy nothing could be verified. */
function textResult(path: string, text: string, { policy, ...options }: VerifyBundleOptions): BundleResult {
  if (policy === undefined) throw new UsageError(`${path} is a tlog-proof, which needs the keys of its log: --policy`)
  return verifyTlogProof(text, { ...options, policy })
}

/**
 * An export and a log are read as a stream, so that the policy alone decides. Without the package, it says so, and the
 * cosignatures count as absent.
 */
export const mlDsa44For = ({ policy }: Pick<VerifyBundleOptions, 'policy'>, text?: string) =>
  loadMlDsa44(policy ?? {}, text).catch((error: unknown) => {
    process.stderr.write(`${printable(whyUnreadable(error))}\n`)
    return undefined
  })

/** The bundle may be whole, and the verifier went no further. */
const NOT_FINISHED: ReadonlySet<VerificationRule> = new Set(['form.length', 'limit.signatures', 'verifier.failed'])

/** Another file was named by mistake, or it is damaged. That says nothing about any evidence. */
function whyNoBundle(
  path: string,
  text: string,
  result: Extract<BundleResult, { readonly rule: VerificationRule }>,
): UsageError {
  const { rule, reason } = result
  if (isTlogProof(text)) return new UsageError(`${path} is not a whole tlog-proof: ${printable(reason)}`)
  const isMeant = text.includes(BUNDLE_FORMAT)
  const why = isMeant || text.includes('\0') || text.includes(EXPORT_FORMAT) ? whyNoDocument(text) : undefined
  if (why !== undefined) return new UsageError(`${path} is not a proof bundle: ${why}`)
  if (rule === 'document.newer') return new UsageError(`${path}: ${printable(reason)}`)
  if (isMeant && isChanged(result))
    return new UsageError(`${path} was changed by a program: ${printable(reason)}. ${adviceOn(result)}`)
  if (isMeant && NOT_FINISHED.has(rule)) return new UsageError(`${path}: ${printable(reason)}. ${adviceOn(result)}`)
  if (isMeant)
    return new UsageError(
      `${path} is not a whole proof bundle (${reason}): it is cut off or damaged, download it again`,
    )
  const error = errorIn(text)
  if (error !== undefined)
    return new UsageError(`${path} is not a proof bundle, but an error of the server: ${printable(error)}`)
  return new UsageError(
    `${path} is not a proof bundle (it does not have the format ${BUNDLE_FORMAT}): download one with ?format=bundle`,
  )
}

/** Reads a file as strict UTF-8. */
export async function readText(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(path))
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** Reads what the user pins. */
export async function readPolicy(path: string): Promise<NonNullable<VerifyBundleOptions['policy']>> {
  const text = await readText(path)
  try {
    return parsePolicy(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof Error && 'rule' in error && error.rule === 'document.newer')
      throw new UsageError(`${path}: ${printable(reason)}`)
    throw new UsageError(
      `${path} is not a policy (${reason}): save that of GET /log/policy, from a source that you trust`,
    )
  }
}

/** The size and hash of an original. */
async function digestOf(path: string): Promise<NonNullable<VerifyBundleOptions['contents']>[number]> {
  try {
    return { name: basename(path), ...(await digestFile(path)) }
  } catch (error) {
    throw unreadable(path, error)
  }
}

const unreadable = (path: string, error: unknown): UsageError =>
  new UsageError(`cannot read ${path}: ${whyUnreadable(error)}`)

/** With nodes, the blocks that only a node can confirm are looked up between two verifications. */
async function verifyWithNodes(
  text: string,
  options: VerifyBundleOptions,
  urls: readonly string[],
): Promise<BundleResult> {
  const blocks: Parameters<NonNullable<VerifyBundleOptions['isBlockOnChain']>>[0][] = []
  const result = verifyBundle(text, { ...options, isBlockOnChain: (anchor) => void blocks.push(anchor) })
  if (!('claims' in result) || urls.length === 0 || blocks.length === 0) return result
  const answers = new Map<string, boolean>()
  for (const url of urls)
    try {
      for (const [block, answer] of await blocksOnChain(url, blocks)) answers.set(block, answer)
    } catch (error) {
      throw new UsageError(`the node could not be asked: ${networkReason(error)}. Correct --rpc, or verify without it`)
    }
  return verifyBundle(text, { ...options, isBlockOnChain: (anchor) => answers.get(nameOf(anchor)) })
}
