import type { BundleClaims, BundleEventClaims } from '../../core/verify/index.ts'

const WITH_HASHES =
  'Download a bundle with them: GET /evidences/COMPANY_ID/evidence/EXTERNAL_ID/bundle?fields=all&files=all, ' +
  'with a key of the company'

const MAX_NAMED = 10

/** What to do about an original that is not a file of a bundle. */
export function originalAdvice({ events }: BundleClaims): string {
  const disclosed = events.flatMap(({ files }) => [...files.values()]).filter((file) => 'sha256' in file)
  if (events.some(mayHideFiles)) {
    const what = disclosed.length === 0 ? 'no hashes of files' : 'the hashes of some files only'
    return `The bundle discloses ${what}. ${WITH_HASHES}`
  }
  if (disclosed.length === 0) return 'The events of the bundle have no files'
  const named = disclosed.slice(0, MAX_NAMED).map(({ name, size, sha256 }) => `${name}, ${size} bytes, ${sha256}`)
  const more = disclosed.length > MAX_NAMED ? `; and ${disclosed.length - MAX_NAMED} more` : ''
  const advice = 'It is another file, or a copy that was changed. Name an unchanged copy of one of the files'
  return `${advice} (name, size, SHA-256): ${named.join('; ')}${more}`
}

/** An event of which nothing is disclosed does not even list its files. */
const mayHideFiles = ({ version, files, hiddenFiles }: BundleEventClaims): boolean =>
  hiddenFiles.length > 0 || (version === undefined && files.size === 0)
