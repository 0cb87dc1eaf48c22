import type { Context } from 'koa'
import Type, { type Static } from '#typebox'
import { BUNDLE_EXTENSION, BUNDLE_MEDIA_TYPE, type Bundle, type BundleSelection } from '../../core/index.ts'
import { CompanyQuery } from './verification.ts'
import { closed, opt } from './values.ts'

/** The proof bundle: a file that a stranger can verify offline. The core makes it. */

export const BundleQuery = closed({
  fields: Type.String({ description: 'Names of the fields to disclose, separated by commas; `all` or `none`' }),
  files: Type.String({ description: 'Ids of the files to disclose, separated by commas; `all` or `none`' }),
  history: opt(
    Type.Boolean({ description: 'Also disclose `slotKey`, with which later versions can be found in the log' }),
  ),
})
export type BundleQuery = Static<typeof BundleQuery>

export const ProofQuery = closed({
  ...CompanyQuery.properties,
  format: opt(Type.Enum(['json', 'bundle'], { description: '`bundle`: one file that can be verified offline' })),
})
export type ProofQuery = Static<typeof ProofQuery>

export const PolicyQuery = closed({
  format: opt(Type.Enum(['json', 'text'], { description: '`text`: the C2SP tlog-policy lines alone' })),
})

/** The core reports a parameter that is missing, or sent empty. */
export const bundleSelection = ({ fields, files, history }: Partial<BundleQuery>): BundleSelection =>
  ({
    ...(fields && { fields: namesOf(fields) }),
    ...(files && { files: namesOf(files) }),
    ...(history !== undefined && { history }),
  }) as BundleSelection

const namesOf = (text: string): BundleSelection['fields'] =>
  text === 'all' || text === 'none' ? text : text.split(',')

/** Sends the bundle as a download. `name`: of the file, without its extension. */
export function sendBundle(ctx: Context, bundle: Bundle, name: string): void {
  const fileName = `${name.replaceAll(/[/\\]/g, '_')}${BUNDLE_EXTENSION}`
  ctx.attachment(fileName, { fallback: fileName.replaceAll(/[^\x20-\x7e]/g, '?') })
  ctx.set('Content-Type', BUNDLE_MEDIA_TYPE)
  ctx.body = JSON.stringify(bundle)
}
