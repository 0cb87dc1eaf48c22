import { EXPORT_FORMAT, type BundleCheck, type BundleResult, type VerificationRule } from '../core/verify/index.ts'

/** What the command line and the verification page advise about a bundle that is not proven. */

/** Wherever a stamp of the embedded authority is named. */
export const LOCAL_TEST = "the operator's own test authority: proves no time to others"
/** Wherever nothing else states a time. */
export const LOCAL_TIME = "the operator's own test authority or ledger: proves no time to others"
/** Wherever an anchor in the embedded ledger is named. */
export const LOCAL_TEST_LEDGER = "the operator's own test ledger: proves no time to others"

/** About the rules where a person can do something. */
const BY_RULE: { readonly [rule in VerificationRule]?: string } = {
  'document.newer': 'Fetch a newer verifier: the package, or this page from the registry.',
  'form.json': 'The file is damaged or cut off, or is not a proof bundle: download it again.',
  'form.length': 'Ask for another proof. If this one is too long, ask for one of fewer events.',
  'document.format': 'This is not a proof bundle: download one with ?format=bundle.',
  'keys.not-pinned': 'Get the policy of the log that the proof names, from a source that you trust.',
  'keys.retired': 'Ask for a new proof of the same evidence: the log adds what shows that it did not change since.',
  'keys.newer': 'Get the policy of the log again, from a source that you trust. It names the keys that signed.',
  'checkpoint.key-too-new': 'Compare the tree sizes of the keys in your policy with those of a source that you trust.',
  'checkpoint.key-retired': 'The key was retired before it signed this tree: ask for a new proof of the same evidence.',
  'timestamp.revoked':
    'The certificate of an authority was revoked: ask for a new proof, whose later stamps may renew it.',
  'timestamp.unsupported':
    'An authority uses algorithms that are not accepted: ask for a proof with stamps of another one.',
  'anchor.account-differs': 'Compare the account of the chain in your policy with the one that the operator publishes.',
  'anchor.not-on-chain': 'Ask another node. If it says the same, ask for a new proof, which has a later anchor.',
  'limit.signatures':
    'The proof has too many stamps, cosignatures or lists of revoked certificates: ask for one of fewer events, or ' +
    'verify it with the policy of its log.',
  'expected.subject': 'This is a proof of something else: ask for the one of your evidence or file.',
  'verifier.failed': 'This is a defect of the verifier: report it, with the proof.',
}

/** About all other rules. */
const BY_CHECK: { readonly [check in BundleCheck]: string } = {
  document: 'The file is damaged, or was made by something else than a registry: download it again.',
  keys: 'The keys in the proof are not those of its log. Do not rely on it.',
  events: 'What the proof shows is not what was recorded. Do not rely on it, and ask where it was changed.',
  checkpoint: 'The log did not sign what the proof shows. Do not rely on it, and keep it.',
  inclusion: 'The signed log does not hold what the proof shows. Do not rely on it, and keep it.',
  attestations: 'A stamp, a cosignature or an anchor is wrong. Do not rely on it, and ask for a new proof.',
  expected: 'This is not the proof that you expected.',
}

/** Rules of the form that a program breaks that parses a bundle and writes it again. */
const CHANGED: ReadonlySet<VerificationRule> = new Set(['form.value', 'form.members', 'document.entry'])

/** Whether a bundle has another form than the registry writes, so that nothing is said about it. */
export const isChanged = (result: BundleResult): boolean => result.state === 'unreadable' && CHANGED.has(result.rule)

/** `undefined` if the claims of the bundle hold. */
export function adviceOn(result: BundleResult): string | undefined {
  if (!('rule' in result)) return undefined
  if (isChanged(result)) return 'It is not as the registry wrote it: fetch it again, or send the original file.'
  return BY_RULE[result.rule] ?? BY_CHECK[result.check]
}

/**
 * Why a text is not one JSON object, so that it is not a bundle, and what to do. `undefined` for one that only may be
 * damaged.
 */
export function whyNoDocument(text: string): string | undefined {
  if (/^HTTP\/\d/.test(text)) return 'it begins with the headers of a response: save it again, without -i'
  if (text.slice(0, 99).includes(`"${EXPORT_FORMAT}"`))
    return 'it is an export: check it with evidence-registry verify --export'
  if (text.includes('\0')) return 'it is not text in UTF-8, but perhaps in UTF-16: save it as UTF-8'
  if (/^\uFEFF?\s*\{/.test(text)) return undefined
  // The text may be only the beginning of a long one.
  if (/^\uFEFF?\s*\[\s*\{/.test(text)) return 'it is a list: save each proof in a file of its own'
  return isJson(text) ? 'it is JSON, but not an object: download it again' : 'it is not JSON: download it again'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/^\uFEFF/, ''))
    return true
  } catch {
    return false
  }
}

/** A saved response may be the error that the server returned instead of a bundle. The text is a stranger's. */
export function errorIn(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || !('error' in value) || typeof value.error !== 'string')
      return undefined
    return 'code' in value && typeof value.code === 'string' ? `${value.error} (${value.code})` : value.error
  } catch {
    return undefined
  }
}
