import { texts } from '../texts.ts'

/** How much of an upload was sent; nothing if `percent` is `undefined`. */
export function UploadProgress({ percent }: { readonly percent: number | undefined }) {
  if (percent === undefined) return null
  const text = texts.evidence.uploading(percent)
  return (
    <p role="status">
      {text}
      <progress max={100} value={percent} aria-label={text} />
    </p>
  )
}
