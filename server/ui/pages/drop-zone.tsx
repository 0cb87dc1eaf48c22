import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'

/** Accepts files by drag and drop, or by a file input, which the keyboard reaches. */
export function DropZone({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const t = texts.verify
  const [isOver, setOver] = useState(false)
  const over = (event: DragEvent): void => {
    event.preventDefault()
    setOver(true)
  }
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    onFiles([...(event.dataTransfer?.files ?? [])])
  }
  return (
    <div
      class={`dropzone no-print ${isOver ? 'over' : ''}`}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <p>{t.drop}</p>
      <label>
        {t.choose} <input type="file" multiple onChange={(event) => onFiles([...(event.currentTarget.files ?? [])])} />
      </label>
    </div>
  )
}
