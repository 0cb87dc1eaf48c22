import type { BundleResult } from '../../core/verify/index.ts'

/** Each claim of a result as one text, so that the claims of two results can be compared. */
export function factsOf(result: BundleResult): readonly string[] {
  if (!('claims' in result)) return []
  const { events, file, isHistory, origin } = result.claims
  const facts = [JSON.stringify({ origin })]
  if (isHistory) facts.push(JSON.stringify({ first: events[0]?.txId }))
  if (file !== undefined) facts.push(JSON.stringify({ file: file.fileId, event: file.event }))
  if (file?.deletedBy !== undefined) facts.push(JSON.stringify({ file: file.fileId, deletedBy: file.deletedBy }))
  for (const { txId, version, fields, files, log, committedTime, timestamps, anchors, witnesses } of events) {
    facts.push(JSON.stringify({ txId, committedTime }))
    if (log !== undefined) facts.push(JSON.stringify({ txId, position: log.position }))
    if (version !== undefined) facts.push(JSON.stringify({ txId, version }))
    for (const each of [...fields, ...files, ...anchors, ...witnesses]) facts.push(JSON.stringify({ txId, each }))
    for (const { notLaterThan } of timestamps) facts.push(JSON.stringify({ txId, notLaterThan }))
  }
  return facts
}
