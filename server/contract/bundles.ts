import Type, { type Static } from '#typebox'
import type { Bundle, BundleSelection } from '../../core/index.ts'
import { BUNDLE_MEDIA_TYPE, without } from '../../core/schemas/index.ts'
import { bundleFileName } from '../bundle-file-name.ts'
import { bytes, type Reply } from './reply.ts'
import { CompanyQuery } from './verification.ts'
import { closed, defined, opt, TextBoolean } from './values.ts'

/** The proof bundle: a file that a stranger can verify offline. The core makes it. */

/** What a bundle discloses. There is no default: the caller decides what a reader may see. */
export const BundleQuery = closed({
  fields: Type.String({ description: 'all, none, or names of the fields to disclose, separated by commas' }),
  files: Type.String({ description: 'all, none, or ids of the files to disclose, separated by commas' }),
  /** Also discloses `slotKey`, with which later versions can be found in the log. */
  history: opt(TextBoolean),
  versions: opt(
    Type.String({
      minLength: 1,
      // The opposite of ^N(-N)?$, where N is a number from 1 with at most 9 digits.
      ...without('[^0-9-]|^[0-]|-[0-]|-$|-[0-9]+-|[0-9]{10}'),
      description: 'versions to disclose and stamp, such as 7 or 1-100. The others have their header alone',
    }),
  ),
})
export type BundleQuery = Static<typeof BundleQuery>

/** Lines of JSON. */
export const EXPORT_MEDIA_TYPE = 'application/x-ndjson'

/** How the public proof of an evidence or a file is selected, and in which form it is sent. */
export const FormatQuery = closed({
  format: opt(Type.Enum(['json', 'bundle'], { description: '`bundle`: one file that can be verified offline' })),
})
export const ProofQuery = closed({ ...CompanyQuery.properties, ...FormatQuery.properties })
export type ProofQuery = Static<typeof ProofQuery>

/** The form of the policy: the whole document, or what other tools of C2SP read. */
export const PolicyQuery = closed({
  format: opt(Type.Enum(['json', 'text'], { description: '`text`: the C2SP tlog-policy lines alone' })),
})

/** The selection as the core takes it. It rejects names of fields and files that the history does not have. */
export const bundleSelection = ({ fields, files, history, versions }: BundleQuery): BundleSelection => ({
  fields: namesOf(fields),
  files: namesOf(files),
  ...defined({ history, versions: versions === undefined ? undefined : rangeOf(versions) }),
})

function rangeOf(text: string): NonNullable<BundleSelection['versions']> {
  const [from = '', to = from] = text.split('-')
  return { from: Number(from), to: Number(to) }
}

const namesOf = (text: string): BundleSelection['fields'] =>
  text === 'all' || text === 'none' ? text : text.split(',')

/** The bundle as a download. `id`: of what it is about. */
export const bundleReply = (bundle: Bundle, id: string): Reply =>
  bytes(`${BUNDLE_MEDIA_TYPE}; charset=utf-8`, JSON.stringify(bundle), { fileName: bundleFileName(id) })
